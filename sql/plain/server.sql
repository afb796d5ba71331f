{server};
