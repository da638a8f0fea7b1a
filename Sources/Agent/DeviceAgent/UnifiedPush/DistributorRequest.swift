import Notifications

/// A call of an app to the distributor (UnifiedPush's D-Bus specification, versions 0.2.0 and 0.3.0).
struct DistributorRequest: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case register(service: String, token: String, vapid: String?)
        case unregister(token: String)
    }

    let kind: Kind
    let version: Connector.Version

    /// The names of the distributor's interfaces.
    static let interfaces: [Connector.Version: String] = [
        .one: "org.unifiedpush.Distributor1", .two: "org.unifiedpush.Distributor2",
    ]

    /// Why a call is not one of these.
    enum Refusal: Error, Sendable, Hashable {
        case unknownMethod
        case badArguments(String)
    }

    init(_ message: BusMessage, _ body: BusReader) throws(Refusal) {
        guard let version = Self.interfaces.first(where: { $0.value == message.interface })?.key else {
            throw .unknownMethod
        }
        self.version = version
        var body = body
        switch (version, message.member) {
        case (.one, "Register"):
            // 0.1 has no description. Nobody reads it here.
            guard ["ss", "sss"].contains(message.signature), let service = body.text(), let token = body.text() else {
                throw .badArguments("Register takes the app's bus name, a token and a description.")
            }
            kind = .register(service: service, token: token, vapid: nil)
        case (.one, "Unregister"):
            guard message.signature == "s", let token = body.text() else {
                throw .badArguments("Unregister takes a token.")
            }
            kind = .unregister(token: token)
        case (.two, "Register"):
            let values = try Self.values(message, &body)
            guard let service = values["service"]?.text, let token = values["token"]?.text else {
                throw .badArguments("Register needs service and token.")
            }
            // An app that names a key in another form must not get a subscription for everybody.
            guard let vapid = values["vapid", default: .text("")].text else {
                throw .badArguments("The VAPID key is a text in base64url.")
            }
            // An app without a key may send an empty text, or none.
            kind = .register(service: service, token: token, vapid: vapid.isEmpty ? nil : vapid)
        case (.two, "Unregister"):
            guard let token = try Self.values(message, &body)["token"]?.text else {
                throw .badArguments("Unregister needs token.")
            }
            kind = .unregister(token: token)
        default: throw .unknownMethod
        }
        if let fault { throw .badArguments(fault) }
    }

    private static func values(_ message: BusMessage, _ body: inout BusReader) throws(Refusal) -> [String: BusValue] {
        guard message.signature == "a{sv}", let values = body.dictionary() else {
            throw .badArguments("The argument is a dictionary from text to variants.")
        }
        return values
    }

    /// What is wrong with the values.
    private var fault: String? {
        let token: String
        switch kind {
        case .register(let service, let named, let vapid):
            guard Self.isBusName(service) else { return "The app's bus name is not a well-known name." }
            if let vapid, !VAPIDText.isKey(vapid) { return "The VAPID key is not a point of P-256 in base64url." }
            token = named
        case .unregister(let named): token = named
        }
        guard (1...AgentLimits.connectorTokenBytes).contains(token.utf8.count), !token.utf8.contains(0) else {
            return "A token has 1 to \(AgentLimits.connectorTokenBytes) bytes."
        }
        return nil
    }

    /// Whether a name is a well-known name of the bus (the D-Bus Specification, "Valid Names").
    private static func isBusName(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return name.utf8.count <= 255 && parts.count >= 2
            && parts.allSatisfy { part in
                guard let first = part.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
                    return false
                }
                return part.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
            }
    }
}
