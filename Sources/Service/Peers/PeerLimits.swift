package import NIOCore

/// The limits of the connections between nodes.
package struct PeerLimits: Sendable {
    /// The largest number of bytes that wait to be sent to a node. If more wait, the node is slower than the store.
    package var queuedBytes = 4 << 20
    /// The largest number of offers to a node that have no outcome yet and are not stored. An offer is stored after 50 ms
    /// without an outcome, so this is enough if storing takes a second at 16,000 offers a second.
    package var openOffers = 16_384
    /// The largest number of log questions that this node answers for another one at the same time. Each reads files.
    package var openQuestions = 8
    /// The largest number of lines that another node may send in answer to one log question: more than any notification has.
    package var answeredLines = 4096
    /// The largest number of devices in one question. A page of the management API has 1,001, and the record for the
    /// largest question 37 KB.
    package var askedDevices = 4096
    /// The largest number of questions about devices that this node answers for another one at the same time. An answer comes
    /// from memory in less than a millisecond. It has 35 KB for a page whose devices are all connected, and 120 KB if
    /// notifications for five apps of each are held back. So the answers leave half of ``queuedBytes`` to notifications.
    package var openDeviceQuestions = 16
    /// The largest record. The payload has at most 5 KB, and the texts beside it are shorter.
    package var recordBytes = 65_536
    /// The time after which a silent node counts as lost. A working node answers a PING each ``pingInterval``.
    package var silence = TimeAmount.seconds(6)
    package var pingInterval = TimeAmount.seconds(2)
    /// The time within which a new connection must be open and the other node's greeting must have arrived.
    package var connectTimeout = TimeAmount.seconds(5)
    /// The time before the first offer on a new connection. Notifications that were stored before reach the other node
    /// through the store, which it reads four times a second. An offer must not overtake them.
    package var settling = TimeAmount.seconds(1)
    /// The pause before the first new attempt to connect to a node. The pauses grow up to `lastPause`.
    package var firstPause = TimeAmount.milliseconds(200)
    package var lastPause = TimeAmount.seconds(5)

    package init() {}
}
