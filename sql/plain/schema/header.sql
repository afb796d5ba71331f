{header}
