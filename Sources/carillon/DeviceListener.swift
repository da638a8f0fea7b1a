import APNSDevice
import Foundation
import Notifications
import ServiceLifecycle

/// Keeps a device connected, prints its notifications and acknowledges them.
struct DeviceListener: Service {
    let common: CommonOptions
    let device: DeviceOptions
    let bundleIDs: [String]

    /// Reconnecting takes ever longer, up to the longest, so that a service that is down is not beleaguered; a
    /// connection that lived for a while begins anew.
    private static let shortestDelay = 0.5
    private static let longestDelay = 30.0
    private static let longLife = Duration.seconds(5)

    /// What ended one stream of notifications.
    private enum Ending {
        case stream
        case request
    }

    func run() async throws {
        let output = Output(isJSON: common.json)
        var client = try await device.connect(common)
        for bundleID in bundleIDs {
            let token = try await client.register(bundleID)
            output.print(
                Registered(bundleID: bundleID, token: token), "Registered \(bundleID), device token \(token)")
        }
        var seen = RecentIdentifiers()
        var delay = Self.shortestDelay
        while true {
            let began = ContinuousClock.now
            do {
                if case .request = try await listen(client, output, &seen) { break }
                Output.note("Disconnected.")
            } catch let error as DeviceError where error.code != .takenOver && error.code != .refused {
                Output.note("Disconnected: \(error)")
            }
            await client.close()
            if ContinuousClock.now - began > Self.longLife { delay = Self.shortestDelay }
            guard let next = await reconnect(&delay) else { return }
            client = next
        }
        await client.close()
    }

    /// Tries to connect, at ever longer intervals; nil when the command is asked to end.
    private func reconnect(_ delay: inout Double) async -> DeviceClient? {
        do {
            while true {
                let pause = Duration.seconds(delay * Double.random(in: 0.5...1))
                try await cancelWhenGracefulShutdown { try await Task.sleep(for: pause) }
                delay = min(delay * 2, Self.longestDelay)
                do {
                    return try await device.connect(common)
                } catch {
                    Output.note("Not connected: \(error)")
                }
            }
        } catch {
            return nil
        }
    }

    /// Prints and acknowledges until the stream ends or the command is asked to end. What was printed is acknowledged
    /// before this returns, and before the stream is given up, so that the courier still knows what is meant.
    private func listen(
        _ client: DeviceClient,
        _ output: Output,
        _ seen: inout RecentIdentifiers,
    ) async throws -> Ending {
        let lines = try await client.notifications()
        let desk = PrintingDesk(client, output, seen)
        let result = await withTaskGroup(of: Result<Ending, any Error>.self) { group in
            group.addTask {
                await Self.result(.stream) {
                    for try await notification in lines { await desk.take(notification) }
                }
            }
            group.addTask { await Self.result(.stream) { try await desk.acknowledgeAll() } }
            group.addTask { await Self.result(.request) { try await gracefulShutdown() } }
            let first = await group.next() ?? .success(.stream)
            await desk.close()
            group.cancelAll()
            return first
        }
        seen = await desk.seen
        return try result.get()
    }

    private static func result(
        _ ending: Ending,
        _ work: () async throws -> Void,
    ) async -> Result<Ending, any Error> {
        do {
            try await work()
            return .success(ending)
        } catch {
            return .failure(error)
        }
    }

    private struct Registered: Encodable {
        let event = "registered"
        let bundleID: String
        let token: String
    }
}
