// The messages of UnifiedPush's D-Bus specification.
extension BusMessage {
    /// The names of the app's interfaces.
    private static let connectors: [Connector.Version: String] = [
        .one: "org.unifiedpush.Connector1", .two: "org.unifiedpush.Connector2",
    ]

    /// Calls the app. The bus starts it if it does not run.
    /// - Parameters:
    ///   - values: the arguments in their order (version 1), or one dictionary with them (version 2).
    ///   - expectsAnswer: whether the app answers.
    private static func call(
        _ connector: Connector,
        _ member: String,
        expectsAnswer: Bool = false,
        _ values: [(key: String, value: BusValue)],
    ) -> BusMessage {
        var message = call(
            connector.service, "/org/unifiedpush/Connector", connectors[connector.version] ?? "", member)
        message.expectsAnswer = expectsAnswer
        switch connector.version {
        case .one:
            for (_, value) in values {
                message.signature += value.signature ?? ""
                message.body.write(value)
            }
        case .two:
            message.signature = "a{sv}"
            message.body.writeDictionary(values)
        }
        return message
    }

    /// Tells the app its endpoint. It answers in version 2, but nothing depends on the answer: the app asks again at its next start.
    static func newEndpoint(_ connector: Connector) -> BusMessage {
        call(connector, "NewEndpoint", [("token", .text(connector.token)), ("endpoint", .text(connector.endpoint))])
    }

    /// Hands the app a message.
    static func message(_ content: ConnectorMessage, to connector: Connector) -> BusMessage {
        call(
            connector, "Message", expectsAnswer: connector.version == .two,
            [("token", .text(connector.token)), ("message", .bytes(content.body)), ("id", .text(content.id))])
    }

    /// Tells the app that its registration has ended.
    static func unregistered(_ connector: Connector) -> BusMessage {
        call(connector, "Unregistered", [("token", .text(connector.token))])
    }

    /// The answer to a registration.
    /// - Parameter failure: why there is none; nil if there is one.
    static func registered(
        _ call: BusMessage, _ version: Connector.Version, failure: RegistrationFailure?
    ) -> BusMessage {
        var answer = answer(to: call)
        switch version {
        case .one:
            answer.signature = "ss"
            answer.body.write(failure == nil ? "NEW_ENDPOINT" : "REGISTRATION_FAILED")
            answer.body.write(failure?.cause ?? "")
        case .two:
            answer.signature = "a{sv}"
            answer.body.writeDictionary(
                failure.map {
                    [("success", .text("REGISTRATION_FAILED")), ("reason", .text($0.reason.rawValue))]
                } ?? [("success", .text("REGISTRATION_SUCCEEDED"))])
        }
        return answer
    }

    /// The answer to the end of a registration.
    static func unregistered(_ call: BusMessage, _ version: Connector.Version) -> BusMessage {
        var answer = answer(to: call)
        if version == .two {
            answer.signature = "a{sv}"
            answer.body.writeDictionary([])
        }
        return answer
    }

    // MARK: The bus itself

    /// A call of the bus with one name.
    static func bus(_ member: String, _ text: String? = nil, flags: UInt32? = nil) -> BusMessage {
        var message = call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member)
        message.signature = (text == nil ? "" : "s") + (flags == nil ? "" : "u")
        if let text { message.body.write(text) }
        if let flags { message.body.write(flags) }
        return message
    }
}

/// Why an app of the desktop has no registration.
struct RegistrationFailure: Error, Sendable, Hashable {
    /// The reasons of the specification.
    enum Reason: String, Sendable, Hashable {
        case internalError = "INTERNAL_ERROR"
        case network = "NETWORK"
        case actionRequired = "ACTION_REQUIRED"
    }

    let reason: Reason
    /// A sentence for a person.
    let cause: String
}
