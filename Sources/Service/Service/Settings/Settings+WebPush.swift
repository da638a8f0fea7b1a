import Configuration
import Connections
import HTTPAPI
import Notifications

// The settings of Web Push.
extension Settings {
    mutating func readWebPush(_ reader: ConfigReader) throws(ServiceError) {
        if let text = reader.string(forKey: "web-push"), !text.isEmpty { try setWebPush(text) }
        if let text = reader.string(forKey: "web-push-plain"), !text.isEmpty { try setWebPushPlain(text) }
        if let text = reader.string(forKey: "web-push-url"), !text.isEmpty { try setWebPushURL(text) }
    }

    /// - Parameter text: `ADDRESS:PORT`.
    package mutating func setWebPush(_ text: String) throws(ServiceError) {
        webPush.listen = try Self.address(text, of: "web-push")
    }

    /// - Parameter text: `ADDRESS:PORT`.
    package mutating func setWebPushPlain(_ text: String) throws(ServiceError) {
        webPush.plain = try Self.address(text, of: "web-push-plain")
    }

    /// - Parameter text: `https://HOST`, or `https://HOST:PORT`.
    package mutating func setWebPushURL(_ text: String) throws(ServiceError) {
        guard let origin = Self.origin(text) else {
            throw ServiceError(
                .badSetting,
                "The setting web-push-url is \(text); it takes an origin without a path, as in https://push.example.com."
            )
        }
        webPush.origin = origin
    }

    /// The origin in the form that senders write it (RFC 6454, 6.1): in lower case, without the default port. Senders refuse
    /// endpoints without TLS, but for this machine they are useful in tests.
    /// - Returns: nil if the text is not an origin.
    static func origin(_ text: String) -> String? {
        let text = text.lowercased()
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix) else { return nil }
        let name = String(text.dropFirst(scheme.count))
        guard let authority = HTTPAuthority(name), !authority.host.isEmpty, !name.hasSuffix(":"), authority.port != 0
        else {
            return nil
        }
        guard scheme == "https://" || authority.host.isLoopbackHost else { return nil }
        let host = authority.host.contains(":") ? "[\(authority.host)]" : authority.host
        guard let port = authority.port, port != (scheme == "https://" ? 443 : 80) else { return scheme + host }
        return scheme + host + ":\(port)"
    }

    /// Without TLS, tokens and endpoints may cross this machine only, or the way from a known proxy.
    func checkWebPush() throws(ServiceError) {
        if let plain = webPush.plain, !plain.host.isLoopbackHost, proxies.isEmpty {
            throw ServiceError(
                .badSetting,
                "The setting web-push-plain is \(plain.text): without TLS it takes an address of this machine. For a proxy on "
                    + "another one, name it with --proxy-protocol.")
        }
        if webPush.origin != nil, !webPush.isOn {
            throw ServiceError(
                .badSetting, "The setting web-push-url needs web-push or web-push-plain, where the service listens.")
        }
        if webPush.listen == nil, let plain = webPush.plain, webPush.origin == nil, !plain.host.isLoopbackHost {
            throw ServiceError(
                .badSetting,
                "The setting web-push-plain needs web-push-url, the origin under which senders reach the proxy.")
        }
    }
}
