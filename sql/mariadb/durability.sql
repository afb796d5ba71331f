-- By which setting what is committed may be gone after a crash of the machine, or NULL.
SELECT IF(@@innodb_flush_log_at_trx_commit = 1, NULL,
          CONCAT('the server runs with innodb_flush_log_at_trx_commit = ',
                 @@innodb_flush_log_at_trx_commit, ': after a crash of its machine it may have forgotten ',
                 'a lease, and grant it again while its holder works; set it to 1')) AS warning;
