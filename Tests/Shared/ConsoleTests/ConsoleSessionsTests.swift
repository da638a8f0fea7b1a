import CommonTesting
import Foundation
import HTTPTypes
import Notifications
import Testing

@testable import Console

/// The links and sessions of the console, with times that the test gives.
struct ConsoleSessionsTests {
    private let sessions = ConsoleSessions()
    private let start = Timestamp(seconds: 1_800_000_000)

    private func later(_ duration: Duration) -> Timestamp { start.advanced(by: duration) }

    @Test func `A link is valid for five minutes`() {
        let (first, second) = (sessions.makeLink(now: start), sessions.makeLink(now: start))
        #expect(sessions.signIn(link: first, now: later(.seconds(299))) != nil)
        #expect(sessions.signIn(link: second, now: later(.seconds(300))) == nil)
    }

    @Test func `A session ends after twelve hours, and so do its streams`() throws {
        let cookie = try #require(sessions.signIn(link: sessions.makeLink(now: start), now: start))
        let name = try #require(sessions.session(cookie: cookie, now: later(.seconds(12 * 3600 - 1))))
        #expect(sessions.add({}, to: name, now: later(.seconds(3600)))?.left == .seconds(11 * 3600))
        #expect(sessions.session(cookie: cookie, now: later(.seconds(12 * 3600))) == nil)
        #expect(sessions.add({}, to: name, now: later(.seconds(12 * 3600))) == nil)
    }

    @Test func `If there are too many sessions, the oldest ends`() throws {
        var cookies: [String] = []
        for second in 0...ConsoleLimits.sessions {
            let now = later(.seconds(second))
            cookies.append(try #require(sessions.signIn(link: sessions.makeLink(now: now), now: now)))
        }
        #expect(sessions.session(cookie: cookies[0], now: start) == nil)
        #expect(sessions.session(cookie: cookies[1], now: start) != nil)
        #expect(sessions.endAll() == ConsoleLimits.sessions)
    }

    @Test func `If there are too many links, the oldest becomes invalid, and all end with the sessions`() {
        let links = (0...ConsoleLimits.links).map { sessions.makeLink(now: later(.milliseconds($0))) }
        #expect(sessions.signIn(link: links[0], now: start) == nil)
        #expect(sessions.signIn(link: links[1], now: start) != nil)
        _ = sessions.endAll()
        #expect(sessions.signIn(link: links[2], now: start) == nil)
    }

    @Test(arguments: [
        ("127.0.0.1:2198", "2198"), ("[::1]:2198", "2198"), ("localhost", "80"), ("[::1]", "80"),
    ])
    func `A cookie's name contains the port`(_ authority: String, _ port: String) {
        #expect(ConsoleSessions.cookieName(authority) == "carillon-console-\(port)")
    }

    /// Any program on this host may set such a cookie, because cookies do not distinguish ports.
    @Test(arguments: [["first"], ["first", "second"]])
    func `Another cookie of the same name before the session's does no harm`(others: [String]) throws {
        let rules = BrowserRules(host: "127.0.0.1", hostnames: [], sessions: sessions)
        let cookie = try #require(sessions.signIn(link: sessions.makeLink(now: start), now: start))
        let name = ConsoleSessions.cookieName("127.0.0.1:2198")
        let header = (others + [cookie]).map { "\(name)=\($0)" }.joined(separator: "; ")
        var request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:2198", path: "/console")
        request.headerFields[.cookie] = header
        #expect(rules.session(of: request, now: start) != nil)
        request.headerFields[.cookie] = others.map { "\(name)=\($0)" }.joined(separator: "; ")
        #expect(rules.session(of: request, now: start) == nil)
    }

    @Test func `Every file of the folder is in the binary, and nothing else`() throws {
        let folder = Repository.file("Sources/Shared/Console/Files").path
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(Set(names) == Set(ConsoleFile.shared.keys).subtracting(["pushtypes.js"]))
    }
}
