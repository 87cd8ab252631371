module tenure.example/client

go 1.21
