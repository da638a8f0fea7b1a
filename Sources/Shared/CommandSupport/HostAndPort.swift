import Connections

/// An address in the forms that commands read and print: `127.0.0.1:2197`, `[::1]:2197`, `https://host:port`.
package struct HostAndPort {
    package let host: String
    package let port: Int

    /// - Parameter text: an address with or without `https://`. If it has no port, the port is 443 (Guide, 2.3.3).
    package init(_ text: String, defaultPort: Int = 443) throws {
        let url = text.contains("://") ? text : "https://" + text
        let server: ServerURL
        do throws(ServerURL.Fault) {
            server = try ServerURL(url)
        } catch {
            // A URL with more may contain a password.
            throw CommandError("\(error == .otherForm ? text : "The address") \(error.detail)")
        }
        host = server.host
        port = server.port ?? defaultPort
        // 0 lets the system choose the port of a listener.
        guard (0...65_535).contains(port) else {
            throw CommandError("\(text) has the port \(port); a port is at most 65535.")
        }
    }
}
