import APNSProvider
import Foundation

/// Sends many notifications through one client, and prints the time and memory that this took: `ProviderBench URL CA
/// KEY-FILE KEY-ID TEAM-ID TOKEN TOPIC COUNT IN-FLIGHT`
@main
struct ProviderBench {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 10, let token = DeviceToken(arguments[6]), let count = Int(arguments[8]),
            let inFlight = Int(arguments[9])
        else { throw Usage() }
        var configuration = ProviderClient.Configuration()
        configuration.maximumInFlight = inFlight
        // One connection, like the other clients.
        configuration.maximumConnections = 1
        let notification = try PushNotification(
            topic: arguments[7], APS(alert: "Hello", badge: 1), expiration: .immediately, priority: .immediate)
        try await ProviderClient.withClient(
            credentials: ProviderCredentials(keyFile: arguments[3], keyID: arguments[4], teamID: arguments[5]),
            environment: .custom(url: arguments[1], authority: .file(arguments[2])), configuration: configuration
        ) { client in
            let outcomes = client.send(Repeated(push: Push(notification, to: token), count: count))
            let start = ContinuousClock.now
            var failed = 0
            var sizes: [Int] = []
            var number = 0
            for await outcome in outcomes {
                if !outcome.isAccepted { failed += 1 }
                number += 1
                if number.isMultiple(of: max(1, count / 10)) { sizes.append(residentKilobytes()) }
            }
            report(count, failed, ContinuousClock.now - start, sizes)
        }
    }

    private static func report(_ count: Int, _ failed: Int, _ time: Duration, _ sizes: [Int]) {
        var used = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
        let cpu = Double(used.tv_sec) + Double(used.tv_nsec) / 1e9
        let wall = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
        print(
            #"{"client":"carillon","count":\#(count),"failed":\#(failed),"seconds":\#(wall),"cpu":\#(cpu),"#
                + #""cpuMicrosecondsEach":\#(cpu / Double(count) * 1e6),"residentKilobytes":\#(sizes)}"#)
    }

    /// The resident memory by the kernel's count, on Linux; 0 elsewhere.
    private static func residentKilobytes() -> Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
            let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return 0 }
        return pages * Int(getpagesize()) / 1024
    }

    private struct Usage: Error, CustomStringConvertible {
        let description = "usage: ProviderBench URL CA KEY-FILE KEY-ID TEAM-ID TOKEN TOPIC COUNT IN-FLIGHT"
    }

    private struct Repeated: AsyncSequence, Sendable {
        let push: Push
        let count: Int

        struct AsyncIterator: AsyncIteratorProtocol {
            let push: Push
            var left: Int
            mutating func next() async -> Push? {
                guard left > 0 else { return nil }
                left -= 1
                return push
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(push: push, left: count) }
    }
}
