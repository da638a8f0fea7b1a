package import Notifications

/// A fault that a rehearsal causes between the gateway's decision about a request and its answer.
package struct RequestFault: Sendable, Hashable {
    package var kind: Kind
    /// The notification is accepted as usual, and only the answer goes wrong. Without it, `answer`, `reset`, `close`,
    /// `hang` and `errorPacket` act before acceptance: nothing is stored or delivered.
    package var isAccepted: Bool

    package init(_ kind: Kind, isAccepted: Bool = false) {
        self.kind = kind
        self.isAccepted = isAccepted
    }

    package enum Kind: Sendable, Hashable {
        /// Another answer.
        case answer(Rejection, retryAfter: Int?)
        /// GOAWAY with a reason, once so many more requests of the connection are answered.
        case goAway(Rejection.Reason, after: Int)
        /// RST_STREAM with an error code (RFC 9113, 7).
        case reset(UInt32)
        case close(CloseKind)
        /// No answer at all.
        case hang
        /// Answered late.
        case delay(Duration)
        /// 200, and never delivered.
        case lose
        /// Delivered so many times in all.
        case duplicate(Int)
        /// Another number of streams for the connection.
        case settings(maxConcurrentStreams: Int)
        /// The binary API's error packet with a status (Guide, Table A-4).
        case errorPacket(UInt8)
    }

    /// How a connection ends.
    package enum CloseKind: String, Sendable, Hashable, CaseIterable {
        /// In good order.
        case fin
        /// At once, as when a machine is gone.
        case rst
    }

    /// How long an answer may be late at most. A request that hangs gets its stream reset after it: longer than any client
    /// waits.
    package static let longest = Duration.seconds(600)

    /// Whether what the gateway decided is not carried out: nothing is handed to `Delivery`.
    package var actsBeforeAcceptance: Bool {
        switch kind {
        case .answer, .reset, .close, .hang, .errorPacket: !isAccepted
        case .lose: true
        case .goAway, .delay, .duplicate, .settings: false
        }
    }
}
