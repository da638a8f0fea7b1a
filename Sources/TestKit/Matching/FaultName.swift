/// The names of faults in a rehearsal's document, with what holds for each: the one table of faults.
package enum FaultName: String, Sendable, Hashable, CaseIterable {
    case answer
    case goAway
    case reset
    case close
    case hang
    case delay
    case lose
    case duplicate
    case settings
    case omit
    case refuse
    case errorPacket
    case certificate
    case tls
    case handshake

    package struct Row: Sendable {
        /// The interfaces on which the fault is possible.
        package let interfaces: [ProviderInterface]
        package let moment: Moment
    }

    /// When a fault acts.
    package enum Moment: Sendable {
        /// In place of accepting the request.
        case instead
        /// In place of accepting the request, or after it if the document says `accepted`.
        case insteadOrAfter
        /// In place of accepting the request, and the provider is told that it is accepted: nothing is delivered.
        case insteadOfDelivery
        /// The request goes its usual way.
        case beside
        /// In the TLS handshake of a new connection, before there is a request.
        case handshake
    }

    package var row: Row {
        switch self {
        case .answer: Row(interfaces: [.http2, .channels, .webPush], moment: .insteadOrAfter)
        case .reset: Row(interfaces: [.http2, .channels], moment: .insteadOrAfter)
        case .goAway: Row(interfaces: [.http2, .channels], moment: .beside)
        case .close, .hang: Row(interfaces: ProviderInterface.ofSenders, moment: .insteadOrAfter)
        case .delay: Row(interfaces: ProviderInterface.ofSenders, moment: .beside)
        case .lose: Row(interfaces: [.http2, .binary, .webPush], moment: .insteadOfDelivery)
        case .duplicate: Row(interfaces: [.http2, .binary, .webPush], moment: .beside)
        case .settings, .omit: Row(interfaces: [.http2], moment: .beside)
        case .refuse: Row(interfaces: ProviderInterface.ofProviders, moment: .instead)
        case .errorPacket: Row(interfaces: [.binary], moment: .insteadOrAfter)
        case .certificate, .tls, .handshake: Row(interfaces: ProviderInterface.ofProviders, moment: .handshake)
        }
    }

    /// The keys that the match of a rule with this fault may have, if the fault happens to a connection before there is a request; nil if
    /// it is about requests. The sender is not known then, so `team` is not among them.
    package var connectionKeys: [RequestMatch.Member]? {
        switch self {
        case .refuse: [.environment, .protocol]
        case .certificate, .tls, .handshake: [.serverName, .environment, .protocol]
        case .answer, .goAway, .reset, .close, .hang, .delay, .lose, .duplicate, .settings, .omit, .errorPacket: nil
        }
    }
}

extension RequestFault.Kind {
    package var name: FaultName {
        switch self {
        case .answer: .answer
        case .goAway: .goAway
        case .reset: .reset
        case .close: .close
        case .hang: .hang
        case .delay: .delay
        case .lose: .lose
        case .duplicate: .duplicate
        case .settings: .settings
        case .omit: .omit
        case .errorPacket: .errorPacket
        }
    }
}
