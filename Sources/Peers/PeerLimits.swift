package import NIOCore

/// The limits of the connections between nodes.
package struct PeerLimits: Sendable {
    /// The largest number of bytes that wait to be sent to a node. A node that reads so slowly is slower than the store.
    package var queuedBytes = 4 << 20
    /// The largest number of offers to a node whose outcomes are not known: those of a second at 16,000 a second.
    package var openOffers = 16_384
    /// The most questions for the delivery log that are answered for one node at a time: each reads files.
    package var openQuestions = 8
    /// The largest record. The payload has at most 5 KB, and the texts beside it are shorter.
    package var recordBytes = 65_536
    /// The time after which a node that says nothing counts as lost. It answers a PING each ``pingInterval``.
    package var silence = TimeAmount.seconds(6)
    package var pingInterval = TimeAmount.seconds(2)
    /// The time within which a connection has to be made, with the greeting of the other node.
    package var connectTimeout = TimeAmount.seconds(5)
    /// The time before the first offer on a new connection. What was stored before reaches the other node through the
    /// store, which it reads four times a second, and an offer must not overtake it.
    package var settling = TimeAmount.seconds(1)
    /// The pauses between attempts to connect to a node grow from the first to the last.
    package var firstPause = TimeAmount.milliseconds(200)
    package var lastPause = TimeAmount.seconds(5)

    package init() {}
}
