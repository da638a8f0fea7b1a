// The management API: one way in from the side, over HTTP/1.1.
