import Connections
import NIOCore
import Notifications

/// The proxy for all connections of a process, and what is reached without it: the only reader of `HTTPS_PROXY` and
/// `NO_PROXY`.
package struct ProxyRules: Sendable, Hashable {
    /// Everything is reached directly.
    package static let none = ProxyRules()

    /// What is reached without the proxy.
    private enum Exception: Sendable, Hashable {
        case everything
        case addresses(AddressRange, port: Int?)
        /// - Parameter isIncluded: whether the name itself is an exception, and not only those below it.
        case names(String, isIncluded: Bool, port: Int?)
    }

    private let proxy: HTTPProxy?
    private let exceptions: [Exception]

    private init() {
        proxy = nil
        exceptions = []
    }

    /// Reads the environment.
    /// - Parameters:
    ///   - variables: the process's environment.
    ///   - setting: a setting that comes before `HTTPS_PROXY`: its name and the proxy's address. The exceptions apply to it.
    /// - Throws: ``ProviderError/Code/badEnvironment`` if something is not understood. The error has no password.
    package init(variables: [String: String], setting: (name: String, url: String)? = nil) throws(ProviderError) {
        guard let (name, url) = setting ?? Self.first(of: "HTTPS_PROXY", "https_proxy", in: variables) else {
            (proxy, exceptions) = (nil, [])
            return
        }
        let known: HTTPProxy
        do throws(ProviderError) {
            known = try HTTPProxy(url: url)
        } catch {
            throw ProviderError(.badEnvironment, "\(name) is not understood. \(error.cause)")
        }
        proxy = known
        exceptions = try Self.exceptions(in: variables)
    }

    /// The first of two variables that is not empty.
    private static func first(
        of one: String,
        _ other: String,
        in variables: [String: String],
    ) -> (name: String, url: String)? {
        for name in [one, other] {
            if let value = variables[name], !value.isEmpty { return (name, value) }
        }
        return nil
    }

    private static func exceptions(in variables: [String: String]) throws(ProviderError) -> [Exception] {
        guard let (name, list) = first(of: "NO_PROXY", "no_proxy", in: variables) else { return [] }
        var exceptions: [Exception] = []
        for text in list.split(whereSeparator: { [",", " ", "\t"].contains($0) }) {
            guard let exception = exception(text.lowercased()) else {
                throw ProviderError(
                    .badEnvironment,
                    "\(name) has \(String(text).debugDescription), which is not understood. Write names such as example.com, "
                        + "addresses, ranges such as 10.0.0.0/8, or *.")
            }
            exceptions.append(exception)
        }
        return exceptions
    }

    /// The proxy through which a host is reached; nil for a direct connection, also to this machine.
    /// - Parameter host: a name or an IP address, as a URL has it.
    package func proxy(for host: String, port: Int) -> HTTPProxy? {
        guard let proxy, !host.isLoopbackHost else { return nil }
        let name = Self.bare(host.lowercased())
        let address = name.socketAddress(port: port)
        return exceptions.contains { Self.isException($0, name, address, port) } ? nil : proxy
    }

    private static func isException(
        _ exception: Exception,
        _ name: String,
        _ address: SocketAddress?,
        _ port: Int,
    ) -> Bool {
        switch exception {
        case .everything: true
        case .addresses(let range, let own): address.map(range.contains) ?? false && (own ?? port) == port
        case .names(let domain, let isIncluded, let own):
            address == nil && (isIncluded && name == domain || name.hasSuffix("." + domain)) && (own ?? port) == port
        }
    }

    /// A host without the brackets of an IPv6 address, or without the dot at the end of a complete name.
    private static func bare(_ host: String) -> String {
        if host.hasPrefix("["), host.hasSuffix("]") { return String(host.dropFirst().dropLast()) }
        return host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    // MARK: Reading exceptions

    /// - Parameter text: one of the list, in small letters.
    private static func exception(_ text: String) -> Exception? {
        if text == "*" { return .everything }
        if let range = AddressRange(text) { return .addresses(range, port: nil) }
        var (host, port): (Substring, Int?) = (text[...], nil)
        if let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") {
            guard let number = Self.port(text[text.index(after: colon)...]) else { return nil }
            (host, port) = (text[..<colon], number)
        }
        if host.hasPrefix("[") {
            guard host.hasSuffix("]"), let range = AddressRange(String(host.dropFirst().dropLast())) else { return nil }
            return .addresses(range, port: port)
        }
        if port != nil, let range = AddressRange(String(host)) { return .addresses(range, port: port) }
        let isBelow = host.hasPrefix("*.")
        let name = bare(String(isBelow ? host.dropFirst(2) : host.hasPrefix(".") ? host.dropFirst() : host))
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { $0.isLetterOrDigit || "-_".utf8.contains($0) } })
        else { return nil }
        return .names(name, isIncluded: !isBelow, port: port)
    }

    private static func port(_ text: Substring) -> Int? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let port = Int(text),
            (1...65_535).contains(port)
        else { return nil }
        return port
    }
}
