// A server of Go's net/http, which prints its port. usage: go run server.go CERTIFICATE KEY
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	handler := http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		writer.Header().Set("apns-id", request.Header.Get("apns-id"))
		if request.URL.Path == "/large" {
			io.WriteString(writer, strings.Repeat("x", 1_000_000))
		} else {
			writer.Write(body)
		}
	})
	log.Fatal(http.ServeTLS(listener, handler, os.Args[1], os.Args[2]))
}
