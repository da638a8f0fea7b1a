import APNSDevice
import CommandSupport
import Connections
import DeviceAgent
import Foundation
import NIOCore

/// Runs a program for each notification, and acknowledges the notification when the program has ended with 0. Until then
/// it is tried again, with growing delays; the notifications after it wait.
struct ExecutingApp: DeviceDelegate {
    /// The time for one run of the program. A simulator on another machine, over ssh, takes a few seconds.
    private static let limit = Duration.seconds(60)
    private static let delay = GrowingDelay(first: .seconds(1), longest: .seconds(60))

    let printing: PrintingApp
    /// The program and its arguments.
    let command: [String]

    func received(_ notification: ReceivedNotification) async {
        let line = printing.line(notification)
        let variables = EventVariables.notification(Array(line.text.utf8))
        let environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        var failures = 0
        while true {
            let end = await Program.run(
                command, environment: environment, folder: FileManager.default.currentDirectoryPath,
                input: notification.webPush?.body ?? notification.payload, limit: Self.limit)
            if end.isSuccess { break }
            failures += 1
            Output.printDiagnostic("\(command[0]) did not handle \(notification.id): \(end). It is tried again.")
            let wait = Self.delay.delay(afterFailures: failures, random: .random(in: 0...1))
            // The command ends meanwhile, and the service sends the notification again.
            try? await Task.sleep(for: .nanoseconds(wait.nanoseconds))
        }
        printing.output.printRaw(line.text, "\(notification.bundleID): \(notification.id) handled")
    }

    func stateChanged(to state: Device.State) { printing.stateChanged(to: state) }
    func renewed(_ identity: DeviceIdentity) async throws { try await printing.renewed(identity) }
    func reported(_ problem: DeviceError) { printing.reported(problem) }
}
