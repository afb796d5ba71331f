SELECT IF(@@innodb_flush_log_at_trx_commit = 1, NULL,
          CONCAT('the server runs with innodb_flush_log_at_trx_commit = ',
                 @@innodb_flush_log_at_trx_commit, ': after a crash of its machine a lease may be ',
                 'lost and granted again while its holder works; set it to 1')) AS warning;
