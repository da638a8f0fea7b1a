package import NIOCore
package import NIOSSL

/// How a listener carries out the TLS handshake of one connection.
package struct HandshakePlan: Sendable {
    package var context: NIOSSLContext
    /// What the listener does before it answers, or in place of that; nil for the usual handshake.
    package var disturbance: Disturbance?
    /// Gets the result; nil if nobody wants it.
    package var observation: (any HandshakeObservation)?

    package enum Disturbance: Sendable, Hashable {
        /// Answers this much later.
        case delay(TimeAmount)
        /// Closes the connection with RST.
        case reset
        /// Does not answer for this long, and then closes the connection.
        case silence(TimeAmount)
    }

    package init(
        _ context: NIOSSLContext,
        disturbance: Disturbance? = nil,
        observation: (any HandshakeObservation)? = nil,
    ) {
        self.context = context
        self.disturbance = disturbance
        self.observation = observation
    }
}

/// Sees the handshake of one connection.
package protocol HandshakeObservation: Sendable {
    /// The connection's number.
    var number: UInt64 { get }
    /// The server name in the handshake; nil if there is none.
    var serverName: String? { get }

    /// Called once, on the connection's event loop.
    func ended(_ end: HandshakeEnd)
}

/// How a handshake ended.
package enum HandshakeEnd: Sendable, Hashable {
    case completed
    /// The client sent a fatal alert: its name in RFC 8446, 6, such as `unknown_ca`.
    case alert(String)
    /// The client ended the connection without an alert.
    case clientEnded
    /// The listener ended the connection.
    case serviceEnded
    /// Something else, in words for a person.
    case failed(String)

    /// - Parameter cause: of ``ConnectionFailure/cause(of:)``.
    init(cause: String) {
        if let alert = ConnectionFailure.alert(cause) {
            self = .alert(alert)
        } else if cause == ConnectionFailure.endedInHandshake {
            self = .clientEnded
        } else {
            self = .failed(cause)
        }
    }
}
