import Credentials
import Crypto
package import NIOCore
import NIOPosix

/// Activates devices: makes a new key and gets a certificate from the service (Guide, 2.1.4.4). One connection
/// activates any number of devices.
package final class Activator: Sendable {
    /// The time for one certificate. A service that activates a fleet signs about a thousand a second.
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

    /// Activates one device.
    /// - Parameters:
    ///   - code: a one-time activation code, if the service requires one.
    ///   - key: the device's private key; nil for a new one.
    /// - Throws: ``DeviceError`` if the request failed or was refused. If the task is cancelled, the connection is closed.
    package func activate(code: String? = nil, key: ActivationKey? = nil) async throws(DeviceError) -> DeviceIdentity {
        let key = key?.key ?? P256.Signing.PrivateKey()
        let pem: String
        do {
            pem = try SigningRequest.pem(for: key)
        } catch {
            throw DeviceError(.badIdentity, error.description)
        }
        let request = CourierRequest(
            .post, "/1/activations", activationCode: code, body: ByteBuffer(string: pem))
        let response: CourierResponse
        do {
            response = try await withTaskCancellationHandler {
                try await link.send(request, timeout: Self.timeout, on: eventLoop)
            } onCancel: {
                eventLoop.execute { [link] in _ = link.value.close() }
            }
        } catch {
            throw error as? DeviceError ?? DeviceError(.closed, "The activation was given up.")
        }
        let identity = DeviceIdentity(
            environment: environment, deviceID: response.deviceID ?? "", keyPEM: key.pemRepresentation,
            chainPEM: String(decoding: response.body, as: UTF8.self))
        guard !identity.deviceID.isEmpty, identity.validity != nil else {
            throw DeviceError(.badResponse, "The courier's answer is not a device certificate.")
        }
        return identity
    }

    /// Closes the connection.
    package func close() async {
        // The future does not fail.
        try? await eventLoop.flatSubmit { [link] in link.value.close() }.get()
    }
}

extension DeviceIdentity {
    /// Activates a new device: makes a new key and gets a certificate from the service.
    ///
    /// Do this once in a device's life and keep the identity in a safe place. Another activation makes another
    /// device with other device tokens.
    /// - Parameters:
    ///   - courier: the address of the service's courier.
    ///   - environment: the environment that the device belongs to. It cannot be changed later.
    ///   - code: a one-time activation code (`carillon device invite`), if the service requires one.
    ///   - keyPEM: the device's private key, P-256 in PEM; nil for a new one. The answer may be lost after the service has used the
    ///     code up. The same code with the same key then gets the same certificate. So store the key before you activate.
    /// - Throws: ``DeviceError``, such as ``DeviceError/Code/badAuthority`` if the authority's certificate cannot be
    ///   read, or ``DeviceError/Code/notConnected``.
    public static func activate(
        at courier: CourierAddress,
        environment: Environment,
        code: String? = nil,
        keyPEM: String? = nil,
    ) async throws(DeviceError) -> DeviceIdentity {
        let key = try keyPEM.map { pem throws(DeviceError) in try ActivationKey(pem: pem.utf8) }
        return try await activate(at: courier, environment: environment, code: code, key: key)
    }

    /// - Parameter key: the device's private key; nil for a new one.
    package static func activate(
        at courier: CourierAddress,
        environment: Environment,
        code: String?,
        key: ActivationKey?,
    ) async throws(DeviceError) -> DeviceIdentity {
        let activator = try Activator(at: courier, environment: environment)
        do throws(DeviceError) {
            let identity = try await activator.activate(code: code, key: key)
            await activator.close()
            return identity
        } catch {
            await activator.close()
            throw error
        }
    }
}
