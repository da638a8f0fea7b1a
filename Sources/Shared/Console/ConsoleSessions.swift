package import Crypto
import Foundation
package import Notifications
import Synchronization

/// The console's sign-in links and sessions. A link starts one session.
///
/// Memory has only digests of the secrets, and digests are compared, so the time of a comparison reveals nothing.
/// When the service ends, all links and sessions end.
package final class ConsoleSessions: Sendable {
    /// Identifies a session: the digest of the secret in its cookie.
    package typealias Name = SHA256.Digest

    private struct Session {
        let end: Timestamp
        /// Closures that end the session's streams, by the names that ``add(_:of:now:)`` gave them.
        var answers: [UInt64: @Sendable () -> Void] = [:]
    }

    private struct State {
        /// When each link expires.
        var links: [Name: Timestamp] = [:]
        var sessions: [Name: Session] = [:]
        var lastAnswer: UInt64 = 0
        var address: String?
    }

    private let state = Mutex(State())

    package init() {}

    /// The console's address, for example http://127.0.0.1:2198; nil if browsers cannot reach it.
    package var address: String? {
        get { state.withLock(\.address) }
        set { state.withLock { $0.address = newValue } }
    }

    /// Makes a sign-in link, and returns its secret. If the limit is reached, the oldest link becomes invalid.
    package func makeLink(now: Timestamp) -> String {
        let secret = Self.secret()
        state.withLock { state in
            state.links = state.links.filter { $0.value > now }
            if state.links.count >= ConsoleLimits.links,
                let oldest = state.links.min(by: { $0.value < $1.value })
            {
                state.links[oldest.key] = nil
            }
            state.links[Self.name(secret)] = now.advanced(by: ConsoleLimits.linkLife)
        }
        return secret
    }

    /// Uses up a link and begins a session. If the limit is reached, the oldest session ends.
    /// - Returns: the secret for the session's cookie; nil if the link is not valid.
    package func signIn(link: String, now: Timestamp) -> String? {
        let secret = Self.secret()
        let (isGood, ended) = state.withLock { state -> (Bool, [Session]) in
            guard let end = state.links.removeValue(forKey: Self.name(link)), end > now else { return (false, []) }
            var ended: [Session] = []
            for (name, session) in state.sessions where session.end <= now {
                ended.append(session)
                state.sessions[name] = nil
            }
            if state.sessions.count >= ConsoleLimits.sessions,
                let oldest = state.sessions.min(by: { $0.value.end < $1.value.end })
            {
                ended.append(oldest.value)
                state.sessions[oldest.key] = nil
            }
            state.sessions[Self.name(secret)] = Session(end: now.advanced(by: ConsoleLimits.sessionLife))
            return (true, ended)
        }
        Self.finish(ended)
        return isGood ? secret : nil
    }

    /// The session that a cookie belongs to; nil if there is none or it has expired.
    package func session(cookie: String, now: Timestamp) -> Name? {
        let name = Self.name(cookie)
        return state.withLock { state in
            guard let session = state.sessions[name], session.end > now else { return nil }
            return name
        }
    }

    /// Ends one session.
    /// - Returns: whether it existed.
    package func end(_ name: Name) -> Bool {
        let session = state.withLock { $0.sessions.removeValue(forKey: name) }
        Self.finish([session].compactMap(\.self))
        return session != nil
    }

    /// Ends all sessions and invalidates all links.
    /// - Returns: the number of sessions that ended.
    package func endAll() -> Int {
        let sessions = state.withLock { state in
            defer { (state.sessions, state.links) = ([:], [:]) }
            return Array(state.sessions.values)
        }
        Self.finish(sessions)
        return sessions.count
    }

    private static func finish(_ sessions: [Session]) {
        for session in sessions { for finish in session.answers.values { finish() } }
    }

    // A secret of 256 random bits.
    private static func secret() -> String {
        var random = SystemRandomNumberGenerator()
        return Hexadecimal.string((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }

    private static func name(_ secret: String) -> Name { SHA256.hash(data: Data(secret.utf8)) }
}

// MARK: - Streams

extension ConsoleSessions {
    /// Adds a stream, which ends with its session.
    /// - Returns: the session's remaining time, and the stream's name for ``remove(_:of:)``; nil if the session has
    ///   ended.
    package func add(
        _ finish: @escaping @Sendable () -> Void, to name: Name, now: Timestamp
    ) -> (left: Duration, answer: UInt64)? {
        state.withLock { state in
            guard let end = state.sessions[name]?.end, end > now else { return nil }
            state.lastAnswer += 1
            state.sessions[name]?.answers[state.lastAnswer] = finish
            // fits: the end is later
            return (.milliseconds(Int64(clamping: end.milliseconds - now.milliseconds)), state.lastAnswer)
        }
    }

    package func remove(_ answer: UInt64, of name: Name) {
        state.withLock { $0.sessions[name]?.answers[answer] = nil }
    }
}

// MARK: - The cookie

extension ConsoleSessions {
    /// The name of the cookie. It contains the port, because browsers send a cookie to all ports of a host, and several
    /// services may run on one machine.
    /// - Parameter authority: the host and port that the browser used. They differ from the service's own if the port
    ///   is forwarded.
    static func cookieName(_ authority: String) -> String {
        let end = authority.lastIndex(of: "]") ?? authority.startIndex
        let port = authority[end...].lastIndex(of: ":").map { authority[authority.index(after: $0)...] } ?? "80"
        return "carillon-console-\(port)"
    }

    /// The value of `Set-Cookie`. Other sites cannot make the browser send this cookie, and scripts cannot read it.
    /// - Parameter isSecure: whether the connection has TLS. The browser then never sends the cookie without TLS.
    static func cookie(_ secret: String, _ authority: String, isSecure: Bool) -> String {
        "\(cookieName(authority))=\(secret); Path=/; Max-Age=\(ConsoleLimits.sessionLife.components.seconds); "
            + "HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
    }

    /// The value of `Set-Cookie` that makes the browser remove the cookie.
    package static func cookieRemoval(_ authority: String) -> String {
        "\(cookieName(authority))=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
    }
}
