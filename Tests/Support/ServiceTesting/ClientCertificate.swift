/// A client certificate and its key, PEM.
struct ClientCertificate: Sendable {
    var serial = ""
    var chainPEM: String
    var keyPEM: String
}
