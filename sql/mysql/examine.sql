{examine_session};
