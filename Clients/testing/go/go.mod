module carillon.example/carillontest

go 1.19
