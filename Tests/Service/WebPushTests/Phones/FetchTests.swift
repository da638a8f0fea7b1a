import AsyncHTTPClient
import CommonTesting
import Delivery
import Foundation
import NIOCore
import NIOHTTP1
import Notifications
import Rates
import Service
import Testing
import Trust
import WebPush

@testable import ServiceTesting

/// Bodies that phones fetch.
@Suite(.timeLimit(.minutes(2)))
struct FetchTests {
    /// Keeps a body, and returns its path.
    private func keep(_ rig: PushedService, _ body: [UInt8], _ number: UInt8 = 1) async throws -> (String, [UInt8]) {
        let id = try #require(EndpointID([UInt8](repeating: number, count: 32)))
        let digest = EndpointKey.digest(of: id)
        let now = Timestamp.now()
        try await rig.store.webPushBodies.keep(
            KeptBody(
                digest: digest, owner: [UInt8](repeating: 9, count: 32), body: body,
                expires: KeptBody.expires(after: 86_400, at: now)), at: now)
        return ("/wp/f/" + id.text, digest)
    }

    @Test(arguments: [true, false])
    func `A body is answered as it came, and from then on kept for ten minutes`(_ isHTTP2: Bool) async throws {
        try await PushedService.run(isHTTP2: isHTTP2) { service in
            let body = (0..<4096).map { UInt8(truncatingIfNeeded: $0 * 7) }
            let (path, digest) = try await keep(service, body)
            func isFetched() async throws -> Bool? {
                try await service.store.webPushBodies.body(with: digest, at: .now())?.isFetched
            }
            let head = try await service.send(.HEAD, at: path, fields: [])
            #expect(head.status == 200 && head["content-length"] == "4096")
            #expect(try await isFetched() == false)
            let (answer, fetched) = try await service.fetch(path)
            #expect(answer["content-type"] == "application/octet-stream" && answer["cache-control"] == "no-store")
            #expect(fetched == body)
            try await wait(while: try await isFetched() == false)
            let kept = try #require(try await service.store.webPushBodies.body(with: digest, at: .now()))
            #expect(kept.expires <= Timestamp.now().advanced(by: KeptBody.lifeAfterFetch))
            #expect(try await service.fetch(path).1 == body, "A phone may try again.")
        }
    }

    @Test func `What is unknown or over is 404, and guesses count for the address`() async throws {
        try await PushedService.run {
            $0.webPush.limits.guessesPerAddress = Rate(burst: 3, perSecond: 0.001)
        } _: { service in
            let (path, digest) = try await keep(service, [1])
            #expect(try await service.send(.POST, at: path).status == 405)
            #expect(try await service.send(.GET, at: path + "x", fields: []).status == 404)
            try await service.store.webPushBodies.remove(digest)
            for _ in 0..<3 { #expect(try await service.send(.GET, at: path, fields: []).status == 404) }
            #expect(try await service.send(.GET, at: path, fields: []).status == 429)
        }
    }

    @Test func `A body's time is that of the service`() async throws {
        try await PushedService.run {
            $0.clock = .virtual
        } _: { service in
            let (path, _) = try await keep(service, [1])
            #expect(try await service.send(.GET, at: path, fields: []).status == 200)
            _ = try await service.test.ask("POST", "/v1/clock", body: #"{"advance":"PT11M"}"#)
            #expect(try await service.send(.GET, at: path, fields: []).status == 404)
        }
    }
}

extension PushedService {
    /// Fetches a body.
    func fetch(_ path: String) async throws -> (Answer, [UInt8]) {
        var request = HTTPClientRequest(url: origin + path)
        request.method = .GET
        let response = try await client.execute(request, deadline: .now() + .seconds(60))
        let collected = try await response.body.collect(upTo: 1 << 20)
        let body = [UInt8](collected.readableBytesView)
        return (
            Answer(status: response.status.code, headers: response.headers, body: "", version: response.version), body
        )
    }
}
