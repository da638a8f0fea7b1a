import Connections
import Foundation
import HTTPAPI

/// The URL to which a hook's events are sent. It needs TLS, because events name users' devices, unless it is on this machine.
struct HookURL: Sendable, Hashable {
    let text: String
    let host: String
    let port: Int

    static let form = JSONForm<String>.text(format).map(to: \.text, from: HookURL.init, allowed: format.name)

    private static let format = TextFormat("https://…, or http:// on this machine") { HookURL($0) != nil }

    init?(_ text: String) {
        guard TextFormat.line(maximumBytes: ProviderServerLimits.hookURLBytes).allows(text),
            let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty, parts.user == nil
        else { return nil }
        let scheme = parts.scheme?.lowercased()
        guard scheme == "https" || (scheme == "http" && host.isLoopbackHost) else { return nil }
        let port = parts.port ?? (scheme == "http" ? 80 : 443)
        // Another port fits into no packet.
        guard (1...65_535).contains(port) else { return nil }
        (self.text, self.host, self.port) = (text, host, port)
    }
}
