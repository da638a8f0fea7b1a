module example.com/push

go 1.19

require carillon.example/carillontest v0.2.0

replace carillon.example/carillontest => ../../../Clients/testing/go
