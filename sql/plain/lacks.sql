{lacks};
