import Crypto
import Foundation
import Notifications
import Synchronization

/// Who has signed in to the console: links that sign a browser in once, and the sessions that they began.
///
/// Only digests are kept: comparing them takes the same time wherever two secrets differ. All of it ends with the service.
final class ConsoleSessions: Sendable {
    /// What a session is known by: the digest of the secret in its cookie.
    typealias Name = SHA256.Digest

    private struct Session {
        let end: Timestamp
        /// Ends the answers that were begun in the session and have no end of their own.
        var answers: [UInt64: @Sendable () -> Void] = [:]
    }

    private struct State {
        /// Until when each link is good.
        var links: [Name: Timestamp] = [:]
        var sessions: [Name: Session] = [:]
        var lastAnswer: UInt64 = 0
        var address: String?
    }

    private let state = Mutex(State())

    /// Where browsers reach the console, as in http://127.0.0.1:2198; nil if they do not.
    var address: String? {
        get { state.withLock(\.address) }
        set { state.withLock { $0.address = newValue } }
    }

    /// Makes the secret of a link. If there are as many links as there may be, the oldest is good no longer.
    func makeLink(now: Timestamp) -> String {
        let secret = Self.secret()
        state.withLock { state in
            state.links = state.links.filter { $0.value > now }
            if state.links.count >= ManagementLimits.consoleLinks,
                let oldest = state.links.min(by: { $0.value < $1.value })
            {
                state.links[oldest.key] = nil
            }
            state.links[Self.name(secret)] = now.advanced(by: ManagementLimits.consoleLinkLife)
        }
        return secret
    }

    /// Uses a link up, and begins a session. If there are as many sessions as there may be, the oldest ends.
    /// - Returns: the secret for the session's cookie; nil if the link is not good.
    func signIn(link: String, now: Timestamp) -> String? {
        let secret = Self.secret()
        let (isGood, ended) = state.withLock { state -> (Bool, [Session]) in
            guard let end = state.links.removeValue(forKey: Self.name(link)), end > now else { return (false, []) }
            var ended: [Session] = []
            for (name, session) in state.sessions where session.end <= now {
                ended.append(session)
                state.sessions[name] = nil
            }
            if state.sessions.count >= ManagementLimits.consoleSessions,
                let oldest = state.sessions.min(by: { $0.value.end < $1.value.end })
            {
                ended.append(oldest.value)
                state.sessions[oldest.key] = nil
            }
            state.sessions[Self.name(secret)] = Session(end: now.advanced(by: ManagementLimits.consoleSessionLife))
            return (true, ended)
        }
        Self.finish(ended)
        return isGood ? secret : nil
    }

    /// The session of a cookie; nil if there is none, or if its time is over.
    func session(cookie: String, now: Timestamp) -> Name? {
        let name = Self.name(cookie)
        return state.withLock { state in
            guard let session = state.sessions[name], session.end > now else { return nil }
            return name
        }
    }

    /// Ends one session.
    /// - Returns: whether it was there.
    func end(_ name: Name) -> Bool {
        let session = state.withLock { $0.sessions.removeValue(forKey: name) }
        Self.finish([session].compactMap(\.self))
        return session != nil
    }

    /// Ends all sessions, and all links.
    /// - Returns: how many sessions that were.
    func endAll() -> Int {
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

    // 256 bits, which nobody guesses.
    private static func secret() -> String {
        var random = SystemRandomNumberGenerator()
        return Hexadecimal.string((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }

    private static func name(_ secret: String) -> Name { SHA256.hash(data: Data(secret.utf8)) }
}

// MARK: - Answers without an end

extension ConsoleSessions {
    /// Has an answer end with its session.
    /// - Returns: how long the session lasts, and the answer's name for ``remove(_:of:)``; nil if the session has ended.
    func add(
        _ finish: @escaping @Sendable () -> Void, to name: Name, now: Timestamp
    ) -> (left: Duration, answer: UInt64)? {
        state.withLock { state in
            guard let end = state.sessions[name]?.end, end > now else { return nil }
            state.lastAnswer += 1
            state.sessions[name]?.answers[state.lastAnswer] = finish
            return (.milliseconds(Int64(clamping: end.milliseconds - now.milliseconds)), state.lastAnswer)
        }
    }

    func remove(_ answer: UInt64, of name: Name) {
        state.withLock { $0.sessions[name]?.answers[answer] = nil }
    }
}

// MARK: - The cookie

extension ConsoleSessions {
    /// Cookies belong to a host and not to its port: the name keeps several services on one machine apart.
    /// - Parameter authority: of the request, as the browser has it: a forwarded port is another one than the service's.
    static func cookieName(_ authority: String) -> String {
        let end = authority.lastIndex(of: "]") ?? authority.startIndex
        let port = authority[end...].lastIndex(of: ":").map { authority[authority.index(after: $0)...] } ?? "80"
        return "carillon-console-\(port)"
    }

    /// What `Set-Cookie` says. A page of another site does not make the browser send it, and no script reads it.
    static func cookie(_ secret: String, _ authority: String) -> String {
        "\(cookieName(authority))=\(secret); Path=/; Max-Age=\(ManagementLimits.consoleSessionLife.components.seconds); "
            + "HttpOnly; SameSite=Strict"
    }

    /// The same for a session that has ended.
    static func cookieRemoval(_ authority: String) -> String {
        "\(cookieName(authority))=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
    }
}
