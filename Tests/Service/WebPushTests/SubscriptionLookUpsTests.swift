import Delivery
import HTTPAPIOverHTTP2
import NIOCore
import NIOPosix
import Notifications
import Storage
import Synchronization
import Testing
import Trust

@testable import WebPush

/// Endpoints that are looked up together.
@Suite(.timeLimit(.minutes(1)))
struct SubscriptionLookUpsTests {
    private static func subscription(_ digest: [UInt8]) -> WebPushSubscription {
        WebPushSubscription(
            destination: Destination(environment: .development, device: DeviceID(rawValue: 1), app: AppID(rawValue: 1)),
            name: "an account", seed: EndpointKey.makeSeed(), digest: digest, vapid: nil, isPlain: false, generation: 1)
    }

    /// Looks up the numbers below a count, all at once on one thread.
    private func find(
        _ count: UInt8, _ lookUps: SubscriptionLookUps
    ) async throws -> [Result<WebPushSubscription?, any Error>] {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let executor = EventLoopExecutor(eventLoop)
        let tasks = try await eventLoop.submit {
            (0..<count).map { number in
                Task(executorPreference: executor) { try await lookUps.subscription(with: [number]) }
            }
        }.get()
        var results: [Result<WebPushSubscription?, any Error>] = []
        for task in tasks { results.append(await task.result) }
        return results
    }

    @Test func `Requests that wait together are looked up together, and each gets its own`() async throws {
        let sizes = Mutex<[Int]>([])
        let lookUps = SubscriptionLookUps { digests throws(StoreError) in
            sizes.withLock { $0.append(digests.count) }
            return digests.map { $0 == [7] ? nil : Self.subscription($0) }
        }
        let count = UInt8(SubscriptionLookUps.maximumCount + 1)
        let found = try await find(count, lookUps)
        for number in 0..<count {
            #expect(try found[Int(number)].get()?.digest == (number == 7 ? nil : [number]))
        }
        #expect(sizes.withLock(\.self).sorted() == [1, SubscriptionLookUps.maximumCount])
        #expect(try await find(1, lookUps)[0].get()?.digest == [0])
    }

    @Test func `If the store fails, each of them learns why`() async throws {
        let lookUps = SubscriptionLookUps { _ throws(StoreError) in throw .tookTooLong }
        for result in try await find(10, lookUps) { #expect(throws: StoreError.tookTooLong) { try result.get() } }
    }

    @Test func `A request that comes during a look-up is in the next one`() async throws {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let sizes = Mutex<[Int]>([])
        let lookUps = SubscriptionLookUps { digests throws(StoreError) in
            let isFirst = sizes.withLock { sizes in
                sizes.append(digests.count)
                return sizes.count == 1
            }
            if isFirst {
                begin.yield()
                for await _ in ended { break }
            }
            return digests.map(Self.subscription)
        }
        async let first = lookUps.subscription(with: [1])
        for await _ in begun { break }
        #expect(try await lookUps.subscription(with: [2])?.digest == [2])
        end.yield()
        #expect(try await first?.digest == [1])
        #expect(sizes.withLock(\.self) == [1, 1])
    }
}
