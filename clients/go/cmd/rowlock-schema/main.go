// SPDX-License-Identifier: Apache-2.0

// Rowlock-schema prints the statements by which rowlock.Install installs:
//
//	go run rowlock.example/rowlock/cmd/rowlock-schema [-role ACCOUNT] postgresql|mariadb|mysql
package main

import (
	"flag"
	"fmt"
	"os"

	"rowlock.example/rowlock"
)

func main() {
	role := flag.String("role", "", "another `account`, which gets the GRANTs to use rowlock")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: rowlock-schema [-role ACCOUNT] postgresql|mariadb|mysql")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	text, err := rowlock.Schema(flag.Arg(0), *role)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(text)
}
