module example.com/push

go 1.19
