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
        /// The provider gets another answer.
        case answer(Rejection, retryAfter: Int?)
        /// The connection gets GOAWAY with a reason, after this many more of its requests are answered.
        case goAway(Rejection.Reason, after: Int)
        /// The stream is reset with an error code (RFC 9113, 7).
        case reset(UInt32)
        case close(CloseKind)
        /// The request gets no answer.
        case hang
        /// The answer comes late.
        case delay(Duration)
        /// The answer is 200, and the notification is never delivered.
        case lose
        /// The notification is delivered this many times in all.
        case duplicate(Int)
        /// The connection gets another number of streams.
        case settings(maxConcurrentStreams: Int)
        /// The connection gets an error packet of the binary API, with a status of the Guide's Table A-4.
        case errorPacket(UInt8)
    }

    /// How a fault closes a connection.
    package enum CloseKind: String, Sendable, Hashable, CaseIterable {
        /// An orderly end.
        case fin
        /// A TCP reset, as if the machine had failed.
        case rst
    }

    /// The longest delay of an answer. A request that hangs has its stream reset after this time, which is longer than
    /// any client waits.
    package static let longest = Duration.seconds(600)

    /// Whether the fault replaces the gateway's decision: the notification does not reach `Delivery`.
    package var actsBeforeAcceptance: Bool {
        switch kind {
        case .answer, .reset, .close, .hang, .errorPacket: !isAccepted
        case .lose: true
        case .goAway, .delay, .duplicate, .settings: false
        }
    }
}
