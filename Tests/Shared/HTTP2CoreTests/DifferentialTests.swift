import Foundation
import HTTP2Core
import Testing

/// The core and libnghttp2 get the same bytes, and send the same: same events, same frames, same verdict.
struct DifferentialTests {
    /// The number of sessions of each kind. `CARILLON_SESSIONS` chooses another one.
    private static let sessions =
        ProcessInfo.processInfo.environment["CARILLON_SESSIONS"].flatMap { Int($0) } ?? 300
    private static let parts = 10
    private static let mutatedParts = 20

    /// Runs a session until it ends, or until a difference that is deliberate.
    /// - Parameter isValid: whether no difference is allowed.
    private func run(_ role: Role, _ steps: [Step], seed: UInt64, isValid: Bool) {
        let pair = Pair(role)
        for (number, step) in steps.enumerated() {
            // After GOAWAY and the last stream libnghttp2 reads nothing more.
            if isValid, pair.isFinished { return }
            guard let result = pair.step(step) else { continue }
            var results = [result]
            if role == .server, !result.isEnd, result.comparison.ours == result.comparison.library {
                results += respond(to: result.comparison.ours, pair)
            }
            for (comparison, isEnd) in results {
                let isSame =
                    isValid
                    ? comparison.ours == comparison.library : comparison.ours.isSame(as: comparison.library)
                guard isSame else {
                    if !isValid, DeliberateDifference.all.contains(where: { $0.explains(comparison) }) { return }
                    Issue.record(
                        """
                        seed \(seed), step \(number): \(step)
                        ours: \(comparison.ours)
                        libnghttp2: \(comparison.library)
                        """)
                    return
                }
                if isEnd { return }
            }
        }
    }

    /// Answers each request that is complete, some of them with more content than a window has room for.
    private func respond(to verdict: Verdict, _ pair: Pair) -> [Pair.Result] {
        verdict.events.filter { $0.hasPrefix("end ") }.compactMap { UInt32($0.dropFirst(4)) }.map { stream in
            let contents: [Int?] = [nil, 1, 700, 100_000]
            return pair.respond(stream, content: contents[Int(stream / 2) % contents.count])
        }
    }

    private func seeds(_ part: UInt64, _ count: Int, from first: UInt64) -> [UInt64] {
        (0..<UInt64(count)).map { first + part * 100_000 + $0 }
    }

    @Test(arguments: DeliberateDifference.all)
    func `A deliberate difference shows with its example`(_ difference: DeliberateDifference) throws {
        let pair = Pair(difference.role)
        if difference.role == .server { _ = pair.receive(Wire.preface) }
        for frame in [Wire.settings(), Wire.settingsAck] { _ = pair.receive(frame) }
        if difference.role == .client {
            _ = pair.open(Wire.get, endStream: true)
            _ = pair.open(Wire.post, endStream: false)
        }
        let comparisons = difference.example.map { pair.receive($0).comparison }
        let last = try #require(comparisons.last)
        #expect(!last.ours.isSame(as: last.library), "both: \(last.ours)")
        #expect(difference.explains(last), "ours: \(last.ours), libnghttp2: \(last.library)")
    }

    /// RFC 9113, 6.9.1, allows the empty frame. The random sessions do not end content with one.
    @Test func `Without a window, libnghttp2 keeps the empty DATA that ends a stream, and we send it`() throws {
        let pair = Pair(.client)
        _ = pair.receive(Wire.settings([(4, 0)]))
        _ = try #require(pair.open(Wire.post, endStream: false))
        let (comparison, _) = pair.send(0, on: 1, endStream: true)
        #expect(comparison.ours.sent == ["DATA 1 0", "end of DATA 1"])
        #expect(comparison.library.sent == [])
    }

    @Test(arguments: 0..<UInt64(parts)) func `Valid sessions of a server have the same events`(_ part: UInt64) {
        for seed in seeds(part, Self.sessions / Self.parts, from: 0) {
            var generator = SessionGenerator(seed: seed)
            run(.server, generator.session(), seed: seed, isValid: true)
        }
    }

    @Test(arguments: 0..<UInt64(parts)) func `Valid sessions of a client have the same events`(_ part: UInt64) {
        for seed in seeds(part, Self.sessions / Self.parts, from: 10_000_000) {
            var generator = SessionGenerator(seed: seed)
            run(.client, generator.clientSession(), seed: seed, isValid: true)
        }
    }

    @Test(arguments: 0..<UInt64(mutatedParts))
    func `Mutated sessions of a server have the same verdict`(_ part: UInt64) {
        for seed in seeds(part, Self.sessions / Self.parts, from: 20_000_000) {
            var generator = SessionGenerator(seed: seed)
            let session = generator.session()
            run(.server, generator.mutated(session), seed: seed, isValid: false)
        }
    }

    @Test(arguments: 0..<UInt64(mutatedParts))
    func `Mutated sessions of a client have the same verdict`(_ part: UInt64) {
        for seed in seeds(part, Self.sessions / Self.parts, from: 30_000_000) {
            var generator = SessionGenerator(seed: seed)
            let session = generator.clientSession()
            run(.client, generator.mutated(session), seed: seed, isValid: false)
        }
    }
}
