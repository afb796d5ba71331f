{examine};
