import Crypto
package import NIOCore
import NIOPosix
import Trust

/// Makes devices: a fresh key here, a certificate from the service (Guide, 2.1.4.4). One connection serves any number.
package final class Activator: Sendable {
    /// How long a certificate may take: a service that activates a fleet has some thousand a second to sign.
    private static let timeout = TimeAmount.seconds(60)

    private let environment: DeviceIdentity.Environment
    private let eventLoop: any EventLoop
    private let link: NIOLoopBoundBox<DeviceLink>

    package init(
        at courier: CourierAddress,
        environment: DeviceIdentity.Environment,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
    ) throws(DeviceError) {
        let (tls, eventLoop) = (try CourierTLS(courier), group.next())
        self.environment = environment
        self.eventLoop = eventLoop
        link = NIOLoopBoundBox.makeBoxSendingValue(
            DeviceLink(
                nil, tls: tls, delegate: Nobody(),
                configuration: Device.Configuration(), eventLoop: eventLoop),
            eventLoop: eventLoop)
    }

    /// Makes one device.
    /// - Parameter code: a one-time activation code, where the service asks for one.
    package func activate(code: String? = nil) async throws(DeviceError) -> DeviceIdentity {
        let key = P256.Signing.PrivateKey()
        let pem: String
        do {
            pem = try SigningRequest.pem(for: key)
        } catch {
            throw DeviceError(.badIdentity, error.description)
        }
        let request = CourierRequest(
            .post, "/1/activations", activationCode: code, body: ByteBuffer(string: pem))
        let response = try await link.send(request, timeout: Self.timeout, on: eventLoop)
        let identity = DeviceIdentity(
            environment: environment, deviceID: response.deviceID ?? "", keyPEM: key.pemRepresentation,
            chainPEM: String(decoding: response.body, as: UTF8.self))
        guard !identity.deviceID.isEmpty, identity.validity != nil else {
            throw DeviceError(.badResponse, "The courier's answer is not a device certificate.")
        }
        return identity
    }

    /// Ends the connection.
    package func close() async {
        // The future does not fail.
        try? await eventLoop.flatSubmit { [link] in link.value.close() }.get()
    }
}

extension DeviceIdentity {
    /// Makes a new device: a fresh key here, a certificate from the service.
    ///
    /// Once in a device's life. Keep the identity in a safe place: a new one is a new device with new device tokens.
    /// - Parameters:
    ///   - courier: where the service is.
    ///   - environment: the one that the device belongs to, for good.
    ///   - code: a one-time activation code (`carillon device invite`), where the service asks for one.
    public static func activate(
        at courier: CourierAddress,
        environment: Environment,
        code: String? = nil,
    ) async throws(DeviceError) -> DeviceIdentity {
        let activator = try Activator(at: courier, environment: environment)
        do throws(DeviceError) {
            let identity = try await activator.activate(code: code)
            await activator.close()
            return identity
        } catch {
            await activator.close()
            throw error
        }
    }
}
