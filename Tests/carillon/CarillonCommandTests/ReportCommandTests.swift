import CommonTesting
import Foundation
import Notifications
import Testing

@testable import ServiceTesting

/// `carillon report` on the requests of curl.
@Suite(.timeLimit(.minutes(2))) struct ReportCommandTests {
    /// - Parameter jwt: the token of all requests; a new token for each would be a finding.
    private static func push(
        _ service: CarillonProcess,
        to token: String,
        by jwt: String,
        _ headers: [String],
    ) async throws {
        let address = try service.addresses(.development).provider
        let pushed = try await ChildProcess.run(
            "curl",
            Curl.arguments(ca: service.ready.ca) + headers.flatMap { ["-H", $0] } + [
                "-H", "authorization: bearer \(jwt)",
                "-H", "apns-topic: com.example.app", "--data-binary", #"{"aps":{"alert":"Hello"}}"#, "-o", "/dev/null",
                "-w", "%{http_code}", "https://\(address)/3/device/\(token)",
            ])
        #expect(pushed.output == "200")
    }

    @Test func `Curl gets a clean report or one finding for each fault`() async throws {
        try await CarillonProcess.with(["--store", "memory"]) { service in
            let token = try await service.register("com.example.app", on: try await service.activate())
            let jwt = try service.developmentProvider.token()
            try await Self.push(service, to: token, by: jwt, ["apns-push-type: alert"])
            let clean = try await service.carillon("report")
            #expect(clean.status == 0, "\(clean.errors)")
            #expect(clean.output == "")
            try await Self.push(service, to: token.uppercased(), by: jwt, ["apns-collapse-id: one"])
            let report = try await service.carillon("report", "--team", service.developmentProvider.teamID)
            let lines = report.output.split(separator: "\n")
            #expect(lines.count == 2)
            #expect(report.output.contains(#""id":"push-type-missing""#))
            #expect(report.output.contains(#""id":"upper-case-token""#))
            #expect(report.output.contains(#""requests":[2]"#))
        }
    }
}
