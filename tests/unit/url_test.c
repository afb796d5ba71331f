/* SPDX-License-Identifier: Apache-2.0 */
/* Which URLs differ in the login only, so that a session may continue with the other one. */
#include "lib/test.h"
#include "util/url.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define PG "postgresql://"
#define SERVER "jdbc:sqlserver://h;databaseName=d"

TEST(another_login_is_the_same_database)
{
    static const char *const same[][2] = {
        {PG "a:one@h/d", PG "a:two@h/d"},
        {PG "a:one@h/d", PG "b:two@h/d"},
        {PG "a@h/d", PG "h/d?user=b&password=two"},
        {PG "a:one@[::1]:5,h2:6/d?connect_timeout=3", PG "a:t:wo@[::1]:5,h2:6/d?connect_timeout=3"},
        {PG "a:one@h/d?connect_timeout=3", PG
         "a:two@h/d?sslmode=verify-full&connect_timeout=3&sslrootcert=/ca&channel_binding=require"},
        {PG "a:one@/?host=h&dbname=d", PG "b:two@/?host=h&dbname=d"},
        {PG "a:one@h", PG "a:two@h"},
        {PG "a@h", PG "a:two@h"},
        {"mariadb://a:one@h/d?ssl=on", "mariadb://b:two@h/d?ssl-ca=/ca&tls-version=TLSv1.3"},
        {"odbc:DSN=x;UID=a;PWD=one", "odbc:DSN=x;UID=a;PWD={t;w}}o};Encrypt=yes"},
        {SERVER ";user=a;password={one}",
         SERVER ";user=a;password={t;o};trustServerCertificate=true"},
        {"jdbc:mariadb://h/d?user=a&password=one",
         "jdbc:mariadb://h/d?user=a&password=two&sslMode=x"},
        {"jdbc:oracle:thin:a/one@//h/d", "jdbc:oracle:thin:a/two@//h/d"},
    };

    for (size_t i = 0; i < COUNT(same); i++) {
        t_text(rowlock__same_database(same[i][0], same[i][1]) ? same[i][0] : "another", same[i][0]);
        t_text(rowlock__same_database(same[i][1], same[i][0]) ? same[i][1] : "another", same[i][1]);
    }
}

TEST(any_other_difference_is_another_database)
{
    static const char *const others[][2] = {
        {PG "a:one@h/d", PG "a:one@h2/d"},
        {PG "a:one@h/d", PG "a:one@h:5433/d"},
        {PG "a:one@h/d", PG "a:one@h/e"},
        {PG "a:one@h/d", PG "a:one@h/d?host=h2"},
        {PG "a:one@h/d", PG "a:one@h/d?hostaddr=10.0.0.1"},
        {PG "a:one@h/d", PG "a:one@h/d?service=x"},
        {PG "a:one@h/d", PG "a:one@h/d?options=-csearch_path%3Dx"},
        {PG "a:one@h/d", PG "a:one@h/d?target_session_attrs=any"},
        {PG "a:one@h", PG "b:one@h"}, /* the database is named after the user */
        {PG "a:one@h/", PG "b:one@h/"},
        {PG "a:one@h/?dbname=d", PG "a:one@h/?dbname=e"},
        {PG "a:one@h/d", "mariadb://a:one@h/d"},
        {PG "a:one@h/d", "local"},
        {"mariadb://a:one@h/d", "mariadb://a:one@h/d?default-file=/x"},
        {"odbc:DSN=x;UID=a;PWD=one", "odbc:DSN=y;UID=a;PWD=one"},
        {"odbc:DSN=x;UID=a;PWD=one",
         "odbc:DSN=x;UID=b;PWD=one"}, /* the user may select the schema */
        {"odbc:DSN=x;PWD={one};Server=a", "odbc:DSN=x;PWD={one;Server=a}"},
        {SERVER ";password=one", "jdbc:sqlserver://h;databaseName=e;password=one"},
        {SERVER ";user=a;password=one", SERVER ";user=b;password=one"},
        {"jdbc:db2://h/d:clientRerouteAlternateServerName=x;password=one;",
         "jdbc:db2://h/d:clientRerouteAlternateServerName=y;password=one;"},
        {"jdbc:oracle:thin:a/one@//h/d", "jdbc:oracle:thin:a/one@//h/e"},
        {"jdbc:oracle:thin:a/one@//h/d", "jdbc:oracle:thin:b/one@//h/d"},
        {"jdbc:h2:tcp://h/d", "jdbc:h2:tcp://h/e"},
    };

    for (size_t i = 0; i < COUNT(others); i++) {
        t_text(rowlock__same_database(others[i][0], others[i][1]) ? "the same" : others[i][1],
               others[i][1]);
        t_text(rowlock__same_database(others[i][1], others[i][0]) ? "the same" : others[i][0],
               others[i][0]);
    }
}
