import CFaultyDisk
import CommonTesting
import Delivery
import Service
import Testing

@testable import ProviderAPI
@testable import ServiceTesting

/// How many requests a provider may have open, by the service's load (Guide, 2.3.3).
@Suite(.timeLimit(.minutes(3)))
struct StreamLoadTests {
    /// Returns the allowance after each load.
    private static func streams(_ loads: Double..., full: Int = 1000) -> [Int] {
        var allowance = StreamAllowance(full: full)
        return loads.map { load in
            allowance.update(by: load)
            return allowance.streams
        }
    }

    @Test func `The number of streams decreases one step at a time, down to the last step`() {
        #expect(Self.streams(0, 0.24, 0.25, 0.25, 0.5, 0.75, 1, 1) == [1000, 1000, 500, 500, 250, 100, 100, 100])
        #expect(Self.streams(1, 1, 1, 1) == [500, 250, 100, 100])
    }

    @Test func `The number of streams increases when the load is well below the load of the step`() {
        #expect(
            Self.streams(1, 1, 1, 0.4, 0.37, 0.3, 0.24, 0.13, 0.12) == [500, 250, 100, 100, 250, 250, 500, 500, 1000])
        // A load that moves around a threshold does not change the allowance.
        #expect(Self.streams(0.25, 0.24, 0.26, 0.2, 0.25) == [500, 500, 500, 500, 500])
    }

    @Test func `At least one stream is always allowed`() {
        #expect(Self.streams(1, 1, 1, full: 1) == [1, 1, 1])
    }

    @Test func `A provider is told when the disk becomes slow, and when it is fast again`() async throws {
        try await RejectionSituation.withFaultyDisk {
            $0.delivery.pendingStoresPerShard = 4
        } _: { test, disk in
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken()).fields
            let watching = try await test.connectProvider()
            #expect(try await watching.send(headers).status == 200)
            try await watching.announced(1000)
            let clients = [
                try await test.connectProvider(), try await test.connectProvider(), try await test.connectProvider(),
                try await test.connectProvider(),
            ]
            // From now on the disk completes no write, until the fault is changed.
            faulty_disk_set(disk, FAULTY_DISK_SLOW)
            try await withThrowingDiscardingTaskGroup { group in
                for client in clients { group.addTask { _ = try await client.send(headers) } }
                try await watching.announced(500)
                faulty_disk_set(disk, FAULTY_DISK_NONE)
            }
            try await wait(while: try await watching.announcements().last != 1000)
            for client in clients { await client.close() }
            await watching.close()
        }
    }
}
