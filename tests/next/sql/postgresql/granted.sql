-- Whether this account may call the functions that this version's statements call and the former
-- version's do not. Until it may, the former version's are sent.
SELECT CASE WHEN pg_catalog.has_function_privilege(
                     pg_catalog.to_regprocedure('rowlock.draw(text,bigint,bigint)')::oid, 'EXECUTE')
             AND pg_catalog.has_function_privilege(
                     pg_catalog.to_regprocedure(
                         'rowlock.renew_lease(bigint,bigint,text,text,integer)')::oid, 'EXECUTE')
       THEN 1 ELSE 0 END;
