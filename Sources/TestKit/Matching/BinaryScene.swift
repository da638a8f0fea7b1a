package import Notifications

/// The notifications of one connection of the binary API as tests see and disturb them. Like ``RequestScene`` it is the
/// port between an API and the stage, with the same two questions. There is one for a whole connection, because only what
/// is rejected gets an answer, and the first rejection ends the connection (Guide, 3.1.2). Confined to the connection's
/// event loop.
package protocol BinaryScene: AnyObject {
    /// Whether the connection reads nothing more for now.
    var isHolding: Bool { get }

    /// Bytes have arrived.
    func received()

    /// A notification was refused that has no ticket. The connection ends.
    /// - Parameter facts: the notification as far as the API knows it. Not asked for if nobody observes.
    func refused(_ status: BinaryStatus, _ facts: () -> RequestFacts)

    /// Asked once, when the API has taken a notification and has not handed it over.
    /// - Parameters:
    ///   - facts: not asked for if nobody observes.
    ///   - later: hands the notification over. If that is to be late, the scene calls it.
    func performance(of ticket: UInt64, _ facts: () -> RequestFacts, later: @escaping () -> Void) -> Performance

    /// Asked when the API knows whether a notification is accepted.
    /// - Parameter status: `noErrors` for an accepted notification, which gets no answer.
    /// - Returns: whether the API does what it has decided.
    func mayAnswer(_ ticket: UInt64, _ status: BinaryStatus) -> Bool

    /// The connection takes nothing more. It is not disturbed while it ends.
    func ending()

    /// The connection has ended.
    func ended()
}

/// Makes the scenes of the connections of a binary API.
package protocol BinaryScenes: Sendable {
    /// Whether a new connection is closed at once.
    var refusesConnection: Bool { get }

    /// - Parameters:
    ///   - connection: the TLS handshake as tests saw it; nil if they did not.
    ///   - team: the team of the client's certificate.
    func scene(
        of performer: any BinaryPerformer,
        _ connection: (number: UInt64, serverName: String?)?,
        team: @escaping () -> TeamID?,
    ) -> any BinaryScene
}

/// A connection of the binary API, of which a stage changes what it does.
package protocol BinaryPerformer: AnyObject {
    /// Decides about a notification in place of `Delivery`.
    func decide(_ ticket: UInt64, _ status: BinaryStatus)

    /// Forgets the newest notification, which was not handed over.
    func withdraw(_ ticket: UInt64)

    /// Closes the connection without an error packet.
    func close(_ kind: RequestFault.CloseKind)

    /// Reads on if the scene does not hold the connection any more.
    func resume()

    /// Calls a function on the connection's event loop.
    func later(_ delay: Duration, _ action: @escaping () -> Void)
}
