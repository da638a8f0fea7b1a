import Crypto
import Foundation
import HTTP2
package import NIOCore
package import Notifications
import Trust

/// A device's connection to its courier, which serves all of its apps.
package struct DeviceClient: Sendable {
    private let connection: HTTP2Client

    /// Connects with an identity, or without one to become a device.
    package init(
        to courier: CourierAddress,
        as identity: DeviceIdentityFile?,
        group: any EventLoopGroup,
    ) async throws(DeviceError) {
        let tls = try CourierTLS(courier).context(identity)
        do throws(HTTP2ClientError) {
            connection = try await HTTP2Client.connect(
                to: .tcp(host: courier.host, port: courier.port, tls: tls, serverName: courier.serverName), group: group
            )
        } catch {
            throw DeviceError(error)
        }
    }

    /// Makes a new device: a fresh key here, a certificate from the service.
    /// - Parameter code: a one-time activation code, where the service asks for one.
    package static func activate(
        at courier: CourierAddress,
        environment: Environment,
        code: String?,
        group: any EventLoopGroup,
    ) async throws(DeviceError) -> DeviceIdentityFile {
        let client = try await DeviceClient(to: courier, as: nil, group: group)
        let key = P256.Signing.PrivateKey()
        let request: String
        do {
            request = try SigningRequest.pem(for: key)
        } catch {
            throw DeviceError(.badIdentity, error.description)
        }
        let headers = code.map { [("activation-code", $0)] } ?? []
        let response = try await client.send(
            HTTP2Request("POST", "/1/activations", headers: headers, body: ByteBuffer(string: request)))
        await client.close()
        return DeviceIdentityFile(
            environment: environment, deviceID: response.headers["device-id"] ?? "", keyPEM: key.pemRepresentation,
            chainPEM: String(buffer: response.body))
    }

    /// Registers an app, and gives its device token in hexadecimal digits.
    package func register(_ bundleID: String) async throws(DeviceError) -> String {
        let response = try await send(HTTP2Request("PUT", Self.path(bundleID)))
        guard let token = JSONObject(Array(response.body.readableBytesView))?[plain: "token"] else {
            throw DeviceError(.badResponse, "The courier's answer holds no device token.")
        }
        return token
    }

    /// Says that an app was removed from the device.
    /// - Returns: The device token that is no longer active; nil where the app never had one.
    package func unregister(_ bundleID: String) async throws(DeviceError) -> String? {
        let response = try await send(HTTP2Request("DELETE", Self.path(bundleID)))
        return JSONObject(Array(response.body.readableBytesView))?[plain: "token"]
    }

    /// Opens the stream of notifications; an older one of this device ends.
    package func notifications() async throws(DeviceError) -> NotificationLines {
        let response: HTTP2StreamingResponse
        do {
            response = try await connection.open(HTTP2Request("GET", "/1/notifications"))
        } catch {
            throw DeviceError(error)
        }
        guard response.status == 200 else {
            throw DeviceError(.refused, "The courier refused to send notifications: status \(response.status).")
        }
        return NotificationLines(response.body)
    }

    /// Acknowledges notifications that were taken.
    package func acknowledge(_ sendings: [UInt64]) async throws(DeviceError) {
        let numbers = sendings.map(String.init).joined(separator: ",")
        let body = ByteBuffer(string: #"{"sendings":[\#(numbers)]}"#)
        _ = try await send(HTTP2Request("POST", "/1/acknowledgements", body: body))
    }

    /// Asks for new device tokens for all apps of the device; each app gets its own when it registers again.
    package func reset() async throws(DeviceError) {
        _ = try await send(HTTP2Request("POST", "/1/reset"))
    }

    /// Ends the connection.
    package func close() async { await connection.close() }

    private static func path(_ bundleID: String) -> String {
        // Whoever is to judge whether it is a bundle ID, the courier is: here it only has to fit a path.
        let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: ".-_~"))
        return "/1/apps/" + (bundleID.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")
    }

    private func send(_ request: HTTP2Request) async throws(DeviceError) -> HTTP2Response {
        let response: HTTP2Response
        do {
            response = try await connection.send(request)
        } catch {
            throw DeviceError(error)
        }
        guard (200..<300).contains(response.status) else {
            let object = JSONObject(Array(response.body.readableBytesView))
            let reason = object?[plain: "reason"]
            let detail = object?[plain: "detail"] ?? ""
            throw DeviceError(
                .refused, "The courier refused: \(response.status) \(reason ?? ""). \(detail)", reason: reason)
        }
        return response
    }
}
