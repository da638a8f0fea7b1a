/// The delegate of a device that makes requests and listens to nothing.
package struct Nobody: DeviceDelegate {
    package init() {}

    package func received(_ notification: ReceivedNotification) async {}
}
