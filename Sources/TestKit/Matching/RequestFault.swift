package import Notifications

/// A fault that a rehearsal causes between the provider API's decision about a request and its answer.
package struct RequestFault: Sendable, Hashable {
    package var kind: Kind
    /// Whether the notification is accepted as usual, and only the answer is disturbed. If false, `answer`, `reset`,
    /// `close`, `hang` and `errorPacket` act before acceptance: nothing is stored or delivered.
    package var isAccepted: Bool

    package init(_ kind: Kind, isAccepted: Bool = false) {
        self.kind = kind
        self.isAccepted = isAccepted
    }

    package enum Kind: Sendable, Hashable {
        /// The provider gets another answer than the provider API decided.
        case answer(Rejection, retryAfter: Int?)
        /// The service sends GOAWAY with a reason on the connection, after this many further requests were answered.
        case goAway(Rejection.Reason, after: Int)
        /// The service resets the stream with an error code (RFC 9113, 7).
        case reset(UInt32)
        case close(CloseKind)
        /// The request gets no answer.
        case hang
        /// The answer is delayed.
        case delay(Duration)
        /// The answer is 200, and the notification is never delivered.
        case lose
        /// The notification is delivered this many times in total.
        case duplicate(Int)
        /// The service changes how many concurrent streams it allows on the connection.
        case settings(maxConcurrentStreams: Int)
        /// The answer has not this header, as that of the production environment.
        case omit(OmittedHeader)
        /// The provider gets an error packet of the binary API, with a status of the Guide's Table A-4.
        case errorPacket(BinaryStatus)
    }

    /// How a fault closes a connection.
    package enum CloseKind: String, Sendable, Hashable, CaseIterable {
        /// An orderly end of the connection.
        case fin
        /// A TCP reset, as if the machine had failed.
        case rst
    }

    /// A header that an answer may lack. The others are never left out: every answer of the provider API has them.
    package enum OmittedHeader: String, Sendable, Hashable, CaseIterable {
        case uniqueID = "apns-unique-id"
    }

    /// The longest delay of an answer: longer than any client waits. If a request hangs, its stream is reset after
    /// this time.
    package static let longest = Duration.seconds(600)

    /// Whether the fault replaces the provider API's decision. The notification then does not reach `Delivery`.
    package var actsBeforeAcceptance: Bool {
        switch kind.name.row.moment {
        case .instead, .insteadOfDelivery: true
        case .insteadOrAfter: !isAccepted
        case .beside, .handshake: false
        }
    }

    /// Whether the provider is told that the notification is accepted, although it is never delivered.
    package var losesNotification: Bool { kind.name.row.moment == .insteadOfDelivery }
}
