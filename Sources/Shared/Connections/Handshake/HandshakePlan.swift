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

    /// Called on the connection's event loop, when the handshake has ended. After ``HandshakeEnd/completed`` it is called
    /// once more if the client then does not speak HTTP/2: see ``HandshakeEnd/isAfterHandshake``.
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
    /// The client does not speak HTTP/2: it offered only these other protocols, or none and then sent a request of HTTP/1.
    case withoutHTTP2(offered: [String])
    /// The client ended the connection after the handshake, before it spoke. Some clients check the certificate only then.
    case leftUnused
    /// Something else, in words for a person.
    case failed(String)

    /// - Parameter cause: of ``ConnectionFailure/cause(of:)``.
    init(cause: String) {
        if let alert = ConnectionFailure.alert(cause) {
            self = .alert(alert)
        } else if cause == ConnectionFailure.endedInHandshake {
            self = .clientEnded
        } else {
            self = .failed(ConnectionFailure.serverCause(cause))
        }
    }

    /// The end of a client that the service refuses by its first message.
    /// - Parameter cause: the sentence that the log has.
    init(refusal cause: String, of hello: ClientHello) {
        self = hello.offersOnlyOthers ? .withoutHTTP2(offered: hello.protocols) : .failed(cause)
    }
}
