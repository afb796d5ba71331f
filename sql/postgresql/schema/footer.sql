-- end of GRANTs
COMMIT;
