import CFaultyDisk
import Delivery
import Foundation
import Service
import Testing

@testable import ServiceTesting

/// The provider API's answers when the store fails.
@Suite(.timeLimit(.minutes(2)))
struct StoreTroubleTests {
    private static let id = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"

    @Test func `With a damaged database the answer is InternalServerError, and the connection ends`() async throws {
        try await RejectionSituation.withDamagedStore { test, token in
            let client = try await test.connectProvider()
            let headers = try test.headers(token, id: Self.id)
            // A notification that must not be stored does not need the store.
            #expect(try await client.send(headers.adding("apns-expiration", "0").fields).status == 200)
            let answer = try await client.send(headers.fields)
            #expect(answer.status == 500 && answer.reason == "InternalServerError")
            #expect(try await client.goAways() == [#"{"reason":"InternalServerError"}"#])
        }
    }

    @Test func `While the disk is full the answer is ServiceUnavailable, and the connection stays`() async throws {
        try await RejectionSituation.withFaultyDisk { test, disk in
            let headers = try test.headers(try await test.makeDeviceToken(), id: Self.id).fields
            let client = try await test.connectProvider()
            faulty_disk_set(disk, FAULTY_DISK_FULL)
            let answer = try await client.send(headers)
            #expect(answer.status == 503 && answer.reason == "ServiceUnavailable")
            faulty_disk_set(disk, FAULTY_DISK_NONE)
            #expect(try await client.send(headers).status == 200)
            await client.close()
        }
    }

    @Test func `With a slow disk the answer is ServiceUnavailable when too many notifications wait`() async throws {
        try await RejectionSituation.withFaultyDisk {
            $0.delivery.pendingStoresPerShard = 1
        } _: { test, disk in
            let headers = try test.headers(try await test.makeDeviceToken(), id: Self.id)
            let client = try await test.connectProvider()
            #expect(try await client.send(headers.adding("apns-expiration", "0").fields).status == 200)
            try await client.announced(1000)
            faulty_disk_set(disk, FAULTY_DISK_SLOW)
            // One notification is being written, and one more may wait.
            var statuses: [Int] = []
            try await withThrowingTaskGroup(of: WireClient.Answer.self) { group in
                for _ in 0..<3 { group.addTask { try await client.send(headers.fields) } }
                for try await answer in group {
                    if answer.status == 503 { #expect(answer.reason == "ServiceUnavailable") }
                    statuses.append(answer.status)
                    faulty_disk_set(disk, FAULTY_DISK_NONE)
                }
            }
            // The first one may still wait when the others arrive, because a separate task takes it to the disk.
            #expect([[503, 200, 200], [503, 503, 200]].contains(statuses))
            await client.close()
        }
    }
}
