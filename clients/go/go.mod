module rowlock.example/rowlock

go 1.21
