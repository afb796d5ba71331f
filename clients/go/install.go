// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The texts of `rowlock schema print`. The folder always has a file, so that the module compiles
// without them.
//
//go:embed schema
var texts embed.FS

const installMost = 5 * time.Minute // the text first waits for another installer

var (
	server = call{`SELECT pg_catalog.version()`, `SELECT VERSION()`}
	// of the schema
	version = call{`SELECT version FROM rowlock.meta`,
		`SELECT version FROM rowlock_meta WHERE technique <> 'plain'`}

	grants     = regexp.MustCompile(`(?ms)^-- GRANTs.*^-- end of GRANTs\n`)
	versionIn  = regexp.MustCompile(`(?m)^-- rowlock's schema, version ([0-9]+)`)
	accountIn  = regexp.MustCompile(`\bapplication\b`)
	accountFor = map[string]*regexp.Regexp{
		"postgresql": regexp.MustCompile(`^([A-Za-z_]\w{0,62})()$`),
		"mariadb":    regexp.MustCompile(`^([A-Za-z_]\w{0,62})(?:@([\w.%:-]+))?$`),
	}
)

// Schema is the text by which Install installs: for an administrator, or a tool such as Flyway. The
// dialect is postgresql, mariadb or mysql. role is another account, which gets the GRANTs to use
// rowlock, on MariaDB and MySQL also USER@HOST; "": no GRANTs. It needs no database.
func Schema(dialect, role string) (string, error) {
	plain := accountFor[strings.Replace(dialect, "mysql", "mariadb", 1)]
	if plain == nil {
		return "", wrong("the dialect must be postgresql, mariadb or mysql, not %q", dialect)
	}
	text, err := packed(dialect)
	if err != nil {
		return "", err
	}
	if role == "" {
		return grants.ReplaceAllLiteralString(text, ""), nil
	}
	account := plain.FindStringSubmatch(role)
	if account == nil {
		return "", wrong("%q is not a plain name of an account: edit the GRANTs", role)
	}
	if account[2] != "" {
		role = "'" + account[1] + "'@'" + account[2] + "'"
	}
	return accountIn.ReplaceAllLiteralString(text, role), nil
}

func packed(name string) (string, error) {
	text, err := texts.ReadFile("schema/" + name + ".sql")
	if err != nil {
		err = fmt.Errorf("this module was built without the schema: run make client-schemas in "+
			"rowlock's source, and build again; or run: rowlock schema install (%w)", err)
	}
	return string(text), err
}

// statements splits the text, by the rules of the client mariadb and src/driver: a statement ends
// with the delimiter, at the end of a line; a line DELIMITER x changes it; a line that begins with
// -- is a comment. PostgreSQL takes the text as one.
func statements(dialect, text string) (found []string) {
	if dialect == "postgresql" {
		return []string{text}
	}
	delimiter, lines := ";", []string(nil)
	for _, line := range strings.Split(text, "\n") {
		if changed, is := strings.CutPrefix(line, "DELIMITER "); is {
			delimiter = changed
		} else if strings.HasPrefix(line, "--") || line == "" && lines == nil {
			continue
		} else if last, ends := strings.CutSuffix(line, delimiter); ends {
			found = append(found, strings.Join(append(lines, last), "\n"))
			lines = nil
		} else {
			lines = append(lines, line)
		}
	}
	return found
}

// Install creates rowlock's tables and functions, if they are missing. The account of db becomes
// their owner, and needs no GRANTs. Any number of programs may install at the same time: it waits
// for the others, until ctx ends, and for 5 minutes at most. A schema of the version before this
// module's, or of the next one, stays as it is. It is an error if it is of any other version, or if
// the account may not create it.
func Install(ctx context.Context, db *sql.DB) error {
	p := poolOf(db)
	defer p.leave()
	of, err := asked[string](ctx, p, server)
	if err != nil {
		return err
	}
	dialect := "mysql"
	switch {
	case of == "PostgreSQL, a stand-in": // of rowlocktest
		return nil
	case strings.Contains(of, "-YB-"):
		return errors.New("on YugabyteDB run: rowlock schema install")
	case strings.HasPrefix(of, "PostgreSQL"):
		dialect = "postgresql"
	case strings.Contains(of, "MariaDB"):
		dialect = "mariadb"
	}
	err = bring(ctx, p, dialect)
	if err == nil || kindOf(err) != errRefused {
		return err
	}
	needs, unknown := packed(dialect + "-needs")
	if unknown == nil {
		needs, unknown = asked[string](ctx, p, call{needs, needs})
	}
	if unknown != nil {
		return unknown
	}
	return fmt.Errorf("could not install rowlock's schema: %w; %s; "+
		"or run the text of rowlock.Schema(%q, ACCOUNT)", err, needs, dialect)
}

func asked[T any](ctx context.Context, p *pool, what call) (answer T, err error) {
	answer, _, err = borrowed(ctx, p, now()+replyMost, "the schema",
		func(ctx context.Context, s session) (found T, err error) {
			return found, s.row(ctx, what).Scan(&found)
		})
	return answer, err
}

func bring(ctx context.Context, p *pool, dialect string) error {
	text, err := Schema(dialect, "")
	if err != nil {
		return err
	}
	wanted, _ := strconv.Atoi(versionIn.FindStringSubmatch(text)[1])
	if is, err := isCurrent(ctx, p, wanted); is || err != nil {
		return err
	}
	_, _, err = borrowed(ctx, p, now()+installMost, "the schema",
		func(ctx context.Context, s session) (bool, error) {
			return true, s.script(ctx, statements(dialect, text))
		})
	if err != nil && ctx.Err() == nil {
		if is, other := isCurrent(ctx, p, wanted); is || other != nil {
			return other // another program was first
		}
	}
	return err
}

// isCurrent: version 0 is that of an install that was interrupted.
func isCurrent(ctx context.Context, p *pool, wanted int) (bool, error) {
	found, err := asked[int](ctx, p, version)
	if errors.Is(err, ErrNotInstalled) || errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	// each version of the schema serves the modules of the version before, and the reverse
	oldest, newest := max(wanted-1, 1), wanted+1
	if err != nil || found == 0 || oldest <= found && found <= newest {
		return err == nil && found != 0, err
	}
	advice := "run: rowlock schema upgrade"
	if found > wanted {
		advice = "use a newer package"
	}
	return false, fmt.Errorf("the schema is version %d, this package works with %d to %d; %s",
		found, oldest, newest, advice)
}

// script sends statements without values, which no driver prepares then. If one fails, the
// connection ends, and with it the settings, the transaction and the lock of the script.
func (s session) script(ctx context.Context, statements []string) (err error) {
	for _, statement := range statements {
		if _, err = s.on.ExecContext(ctx, statement); err != nil {
			break
		}
	}
	if conn, is := s.on.(*sql.Conn); is && err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	return err
}
