// A minimal server with Go's net/http: it reads the body of each request and answers 200.
//
//	server HOST:PORT CERTIFICATE KEY
package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
)

func main() {
	runtime.GOMAXPROCS(1)
	http.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		io.Copy(io.Discard, request.Body)
		response.Header().Set("apns-id", request.Header.Get("apns-id"))
	})
	log.Fatal(http.ListenAndServeTLS(os.Args[1], os.Args[2], os.Args[3], nil))
}
