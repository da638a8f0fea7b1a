import APNSProvider
import ArgumentParser
import CommandSupport
import Notifications
import Service

// Sending over the legacy binary API. The provider certificate authorises the sender and determines the topic.
extension SendCommand {
    /// The provider certificate's file, which is required.
    func certificateForBinary() throws -> String {
        guard let file = credentials.certificate else {
            throw ValidationError("The binary API takes a provider certificate: name its file with --certificate.")
        }
        return file
    }

    func sendBinary() async throws {
        for (option, value) in [("--id", id), ("--collapse-id", collapseID), ("--push-type", pushType)]
        where value != nil {
            Output.printDiagnostic("The binary API has no field for \(option): it is left out.")
        }
        if topic != nil {
            Output.printDiagnostic("The binary API has no field for --topic: the certificate determines the topic.")
        }
        let push = try BinaryPush(
            deviceToken: token ?? "",
            payload: try body(),
            expiration: try number(expiration, "--expiration"),
            priority: try number(priority, "--priority"),
        )
        let place = try server.legacy(\.binary, port: LegacyPort.binary, common, environment)
        let provider = try BinaryProvider(
            environment: place, credentials: try ProviderCredentials(certificateFile: certificateForBinary()),
            proxy: try server.proxy(to: place))
        try report(await provider.send([push]).first)
    }

    private func report(_ outcome: BinaryOutcome?) throws {
        let output = common.output
        switch outcome {
        case .accepted:
            output.print(AnswerLine(status: 200), "Accepted")
        case .refused(let code):
            output.print(
                AnswerLine(status: code.httpStatus, reason: code.reason),
                "Refused: \(code.rawValue) \(code)")
            throw ExitCode.failure
        case .failed(let error):
            throw error
        case nil:
            throw CommandError("Nothing was sent.")
        }
    }

    /// A number that the format has room for.
    private func number<Value: FixedWidthInteger>(_ text: String?, _ option: String) throws -> Value? {
        guard let text else { return nil }
        guard let value = Value(text) else {
            throw ValidationError("\(option) takes a whole number up to \(Value.max) with --binary.")
        }
        return value
    }
}

/// The ports of Apple's service (Guide, 3.1.1 and 3.1.3), used if an address has no port.
enum LegacyPort {
    static let binary = 2195
    static let feedback = 2196
}
