// Opens the board when a notification is clicked that the service worker of the dashboard has shown.
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const board = "/dashboard/orders";
  event.waitUntil(
    self.clients.matchAll({ type: "window" }).then((windows) => {
      const open = windows.find(({ url }) => new URL(url).pathname.startsWith("/dashboard"));
      return open ? open.focus().then((page) => page.navigate(board)) : self.clients.openWindow(board);
    }),
  );
});
